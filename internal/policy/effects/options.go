package effects

import (
	"slices"
	"strings"
)

// kind is what an option has for a value.
type kind string

const (
	flag       kind = "flag"     // none
	withValue  kind = "value"    // attached to it, or the next word
	withNumber kind = "number"   // the same
	optional   kind = "attached" // only attached to it
)

// option is one that was given.
type option struct{ name, value string }

// arguments are what a command was given.
type arguments struct {
	*entry
	given []option
	words []Word // the operands
	// late are the words from the first option on that came after an operand,
	// without the operands: BSD takes them for operands too.
	late []Word
}

func (a arguments) has(names ...string) bool {
	return slices.ContainsFunc(a.given, func(o option) bool { return slices.Contains(names, o.name) })
}

func (a arguments) values(names ...string) (list []string) {
	for _, o := range a.given {
		if slices.Contains(names, o.name) {
			list = append(list, o.value)
		}
	}
	return list
}

// arguments reads the words after a command's name; ok says that it knows them.
func (e *entry) arguments(words []Word) (a arguments, ok bool) {
	a = arguments{entry: e}
	for len(words) > 0 {
		w := words[0]
		switch {
		case e.operands == "words" || e.operands == "find" || e.operands == "cd", len(w.Text) < 2, w.Text[0] != '-':
			a.words, words = append(a.words, w), words[1:]
			continue
		case w.Glob:
			return a, false
		case w.Text == "--":
			a.late = a.after(words[:1])
			a.words = append(a.words, words[1:]...)
			return a, true
		}
		n := a.option(words)
		if n == 0 {
			return a, false
		}
		a.late = a.after(words[:n])
		words = words[n:]
	}
	return a, true
}

// after returns what is late with these words of an option.
func (a arguments) after(words []Word) []Word {
	if len(a.words) == 0 {
		return a.late
	}
	return append(a.late, words...)
}

// option takes one option and says how many words it is; 0 if it is not known.
func (a *arguments) option(words []Word) int {
	text := words[0].Text
	if a.digits && isNumber(text[1:]) {
		return 1
	}
	if strings.HasPrefix(text, "--") {
		name, value, attached := strings.Cut(text, "=")
		return a.take(name, value, attached, words)
	}
	for i := 1; i < len(text); i++ {
		name := "-" + text[i:i+1]
		if a.options[name] != flag {
			return a.take(name, text[i+1:], text[i+1:] != "", words)
		}
		a.given = append(a.given, option{name: name})
	}
	return 1
}

// take takes an option whose value may be attached, or the next word.
func (a *arguments) take(name, value string, attached bool, words []Word) int {
	kind, n := a.options[name], 1
	switch {
	case kind == "", kind == flag && attached:
		return 0
	case (kind == withValue || kind == withNumber) && !attached:
		if len(words) < 2 || words[1].Glob {
			return 0
		}
		value, n = words[1].Text, 2
	}
	if kind == withNumber && !fits(`[+-]?[0-9]+[a-zA-Z]{0,3}`, value) {
		return 0
	}
	a.given = append(a.given, option{name, value})
	return n
}

func isNumber(text string) bool { return strings.Trim(text, "0123456789") == "" }

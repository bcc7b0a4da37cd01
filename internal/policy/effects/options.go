package effects

import (
	"slices"
	"strings"
)

// option is one that was given, without its dashes.
type option struct{ name, value string }

// arguments are what a command was given.
type arguments struct {
	*entry
	options []option
	words   []Word // the operands
	// late are the words from the first option on that came after an operand,
	// without the operands: BSD takes them for operands too.
	late []Word
}

func (a arguments) has(names ...string) bool {
	return slices.ContainsFunc(a.options, func(o option) bool { return slices.Contains(names, o.name) })
}

func (a arguments) values(names ...string) (list []string) {
	for _, o := range a.options {
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
		w, n := words[0], 1
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
		if n = a.option(words); n == 0 {
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
		return a.longOption(text[2:], words)
	}
	for i := 1; i < len(text); i++ {
		letter, value, n := text[i:i+1], text[i+1:], 1
		kind := ""
		for each, letters := range a.letters {
			if strings.Contains(letters, letter) {
				kind = each
			}
		}
		switch kind {
		case "":
			return 0
		case "flags":
			a.options = append(a.options, option{name: letter})
			continue
		case "values", "numbers":
			if value == "" {
				if value, n = next(words); n == 0 {
					return 0
				}
			}
			if kind == "numbers" && !fits(`[+-]?[0-9]+[a-zA-Z]{0,3}`, value) {
				return 0
			}
		}
		a.options = append(a.options, option{letter, value})
		return n
	}
	return 1
}

func isNumber(text string) bool { return strings.Trim(text, "0123456789") == "" }

func (a *arguments) longOption(text string, words []Word) int {
	name, value, attached := strings.Cut(text, "=")
	n := 1
	switch {
	case attached && (slices.Contains(a.long, name+"=") || slices.Contains(a.long, name+"?")):
	case !attached && (slices.Contains(a.long, name) || slices.Contains(a.long, name+"?")):
	case !attached && slices.Contains(a.long, name+"="):
		if value, n = next(words); n == 0 {
			return 0
		}
	default:
		return 0
	}
	a.options = append(a.options, option{name, value})
	return n
}

// next takes the word after an option as its value.
func next(words []Word) (string, int) {
	if len(words) < 2 || words[1].Glob {
		return "", 0
	}
	return words[1].Text, 2
}

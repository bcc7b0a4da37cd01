package effects

import (
	"slices"
	"strings"
)

// arguments are what a command was given.
type arguments struct {
	options  []option
	operands []Word
	// late are the options that came after an operand, as words: BSD takes them
	// for operands, too.
	late []Word
}

type option struct{ name, value string }

// values are those of some options.
func (a arguments) values(names []string) (list []string) {
	for _, o := range a.options {
		if slices.Contains(names, o.name) {
			list = append(list, o.value)
		}
	}
	return list
}

func (a arguments) has(names []string) bool { return len(a.values(names)) > 0 }

// arguments reads the words after a command's name; ok says that it knows them.
func (e *entry) arguments(words []Word) (a arguments, ok bool) {
	for len(words) > 0 {
		w, n, isTest := words[0], 1, e.is("tests") && e.options[words[0].Text] != ""
		switch {
		case e.is("plain"), !isTest && (len(w.Text) < 2 || w.Text[0] != '-'):
			a.operands = append(a.operands, w)
			words = words[1:]
			continue
		case w.Glob:
			return a, false
		case w.Text != "--":
			if n = a.option(e.options, words); n == 0 || !e.fits(a.options) {
				return a, false
			}
		case e.is("tests"): // for find it ends nothing
			return a, false
		}
		if len(a.operands) > 0 && !isTest {
			a.late = append(a.late, words[:n]...)
		}
		if words = words[n:]; w.Text == "--" {
			a.operands = append(a.operands, words...)
			return a, true
		}
	}
	return a, true
}

// fits reports whether the values of options are as they must be.
func (e *entry) fits(options []option) bool {
	return !slices.ContainsFunc(options, func(o option) bool {
		return e.match[o.name] != nil && !e.match[o.name].MatchString(o.value)
	})
}

// option takes one word with options, and the next one if that is the value. It
// returns how many words those are; 0 if it does not know them.
func (a *arguments) option(known map[string]takes, words []Word) (n int) {
	text := words[0].Text
	name, given, isAttached := strings.Cut(text, "=")
	if known[name] == "" && !strings.HasPrefix(text, "--") { // letters, of which the last one may have a value
		for i := 1; i < len(text); i++ {
			name, given, isAttached = "-"+text[i:i+1], text[i+1:], i+1 < len(text)
			if known[name] != flag || !isAttached {
				break
			}
			a.options = append(a.options, option{name: name})
		}
	}
	switch kind := known[name]; {
	case kind == "", kind == flag && isAttached:
		return 0
	case kind == value && !isAttached:
		if len(words) < 2 || words[1].Glob {
			return 0
		}
		given, n = words[1].Text, 1
	}
	a.options = append(a.options, option{name, given})
	return n + 1
}

package effects

import "strings"

// arguments are the arguments of a command.
type arguments struct {
	options  []string // as joined words
	operands []Word
	// late are the options after an operand, as words: BSD also reads them as operands.
	late []Word
}

// joined returns words with a zero byte after each, and \x01 before wildcards.
func joined(words []Word) (text string) {
	for _, w := range words {
		if w.Glob {
			text += "\x01"
		}
		text += w.Text + zero
	}
	return text
}

// arguments reads the words after a command's name; ok reports that all of them are known.
func (e *entry) arguments(words []Word) (a arguments, ok bool) {
	for len(words) > 0 {
		w, n := words[0], 1
		option := e.option().FindString(joined(words[:min(2, len(words))]))
		switch {
		case option != "":
			a.options, n = append(a.options, option), strings.Count(option, zero)
			if len(a.operands) > 0 && !e.is("tests") {
				a.late = append(a.late, words[:n]...)
			}
		case e.is("plain"), len(w.Text) < 2, w.Text[0] != '-':
			a.operands = append(a.operands, w)
		case w.Text != "--" || e.is("tests"): // find has no end of options
			return a, false
		default:
			if len(a.operands) > 0 {
				a.late = append(a.late, w)
			}
			a.operands = append(a.operands, words[1:]...)
			return a, true
		}
		words = words[n:]
	}
	return a, true
}

// values are the values of the options in a line of the entry.
func (a arguments) values(e *entry, mark string) (list []string) {
	for _, option := range a.options {
		if expression := e.marks[mark]; expression != nil && expression.MatchString(option) {
			list = append(list, expression.FindStringSubmatch(option)[1])
		}
	}
	return list
}

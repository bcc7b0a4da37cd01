package effects

import (
	"slices"
	"strings"
)

// entry is how a command may be called.
type entry struct {
	flags   string // letters of options without a value
	numbers string // letters of options whose value is a number
	texts   string // letters of options whose value is a text
	// long are the names of long options: "name", "name=" with a value,
	// "name?" with one only after "=". Abbreviations are not known.
	long string
	// digits takes -20 as an option.
	digits   bool
	operands operands
	// least and most bound the number of operands, most where it is not 0.
	least, most int
	// fits, if set, is an expression that must match each operand, or the first one of a pattern
	// or script.
	fits string
	// builtin says that every shell has it, and it is no program.
	builtin bool
	// more, if set, has the last word.
	more func(given) ([]Effect, string)
}

// operands is what the operands of a command are.
type operands string

const (
	none     operands = ""
	texts    operands = "texts"
	paths    operands = "paths"    // looked at
	here     operands = "here"     // looked at; without any, the directory
	files    operands = "files"    // read
	trees    operands = "trees"    // read with all below
	patterns operands = "patterns" // a pattern or script, then files
	revs     operands = "revs"     // revisions and paths of git
)

// option is one that was given, without its dashes.
type option struct{ name, value string }

// given is what a command was given.
type given struct {
	entry
	options  []option
	operands []Word
	// dashes is the number of operands before "--"; -1 without one.
	dashes int
	// late are the words from the first option on that came after an operand,
	// without the operands: BSD takes them for operands too.
	late []Word
}

func (g given) has(names ...string) bool {
	return slices.ContainsFunc(g.options, func(o option) bool { return slices.Contains(names, o.name) })
}

func (g given) values(names ...string) (list []string) {
	for _, o := range g.options {
		if slices.Contains(names, o.name) {
			list = append(list, o.value)
		}
	}
	return list
}

// parse reads the words after a command's name.
func (e entry) parse(words []Word) (g given, ok bool) {
	g = given{entry: e, dashes: -1}
	for len(words) > 0 {
		w := words[0]
		switch {
		case w.Text == "--" && !w.Glob:
			g.dashes = len(g.operands)
			g.lateWords(words[:1])
			g.operands = append(g.operands, words[1:]...)
			return g, true
		case len(w.Text) < 2 || w.Text[0] != '-':
			g.operands, words = append(g.operands, w), words[1:]
			continue
		case w.Glob:
			return g, false
		}
		n := g.option(words)
		if n == 0 {
			return g, false
		}
		g.lateWords(words[:n])
		words = words[n:]
	}
	return g, true
}

func (g *given) lateWords(words []Word) {
	if len(g.operands) > 0 {
		g.late = append(g.late, words...)
	}
}

// option takes one option and says how many words it is; 0 if it is not known.
func (g *given) option(words []Word) int {
	text := words[0].Text
	if g.digits && strings.Trim(text[1:], "0123456789") == "" {
		return 1
	}
	if strings.HasPrefix(text, "--") {
		return g.longOption(text[2:], words)
	}
	for i := 1; i < len(text); i++ {
		letter := text[i : i+1]
		if strings.Contains(g.flags, letter) {
			g.options = append(g.options, option{name: letter})
			continue
		}
		numeric := strings.Contains(g.numbers, letter)
		if !numeric && !strings.Contains(g.texts, letter) {
			return 0
		}
		value, n := text[i+1:], 1
		if value == "" {
			if value, n = next(words); n == 0 {
				return 0
			}
		}
		if numeric && !matches(`^[+-]?[0-9]+[a-zA-Z]{0,3}$`, value) {
			return 0
		}
		g.options = append(g.options, option{letter, value})
		return n
	}
	return 1
}

func (g *given) longOption(text string, words []Word) int {
	name, value, attached := strings.Cut(text, "=")
	known := strings.Fields(g.long)
	n := 1
	switch {
	case attached && (slices.Contains(known, name+"=") || slices.Contains(known, name+"?")):
	case !attached && (slices.Contains(known, name) || slices.Contains(known, name+"?")):
	case !attached && slices.Contains(known, name+"="):
		if value, n = next(words); n == 0 {
			return 0
		}
	default:
		return 0
	}
	g.options = append(g.options, option{name, value})
	return n
}

// next takes the word after an option as its value.
func next(words []Word) (string, int) {
	if len(words) < 2 || words[1].Glob || words[1].Unknown {
		return "", 0
	}
	return words[1].Text, 2
}

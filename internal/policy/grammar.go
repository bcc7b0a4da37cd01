package policy

import (
	"slices"
	"strings"
)

// grammar is how a program reads its options. What it does not name is not
// understood: programs take abbreviations, and new versions new options.
type grammar struct {
	flags  string   // letters of options without a value
	values string   // letters of options with one
	long   []string // "name", "name=" with a value, "name?" with one only after "="
	exact  []string // options taken as they are
	// number takes -20 as an option.
	number bool
	// stop ends the options at the first word that is none.
	stop bool
}

// option is one that was given, without its dashes.
type option struct{ name, value string }

// parsed is what a command was given.
type parsed struct {
	options  []option
	operands []word
}

func (p parsed) has(names ...string) bool {
	return slices.ContainsFunc(p.options, func(o option) bool { return slices.Contains(names, o.name) })
}

// parse reads the words after a command's name; not ok means that some of
// them are not understood.
func (g grammar) parse(words []word) (p parsed, ok bool) {
	for len(words) > 0 {
		w := words[0]
		switch {
		case w.text == "--" && w.definite():
			p.operands = append(p.operands, words[1:]...)
			return p, true
		case !w.definite() || len(w.text) < 2 || w.text[0] != '-':
			if g.stop {
				p.operands = words
				return p, true
			}
			p.operands, words = append(p.operands, w), words[1:]
			continue
		}
		n := g.option(&p, words)
		if n == 0 {
			return p, false
		}
		words = words[n:]
	}
	return p, true
}

// option takes one option, and says how many words it is; 0 if it is not known.
func (g grammar) option(p *parsed, words []word) int {
	text := words[0].text
	if slices.Contains(g.exact, text) || g.number && strings.Trim(text[1:], "0123456789") == "" {
		p.options = append(p.options, option{name: text})
		return 1
	}
	if name, ok := strings.CutPrefix(text, "--"); ok {
		return g.longOption(p, name, words)
	}
	for i := 1; i < len(text); i++ {
		letter := text[i : i+1]
		if strings.Contains(g.flags, letter) {
			p.options = append(p.options, option{name: letter})
			continue
		}
		if !strings.Contains(g.values, letter) {
			return 0
		}
		if i+1 < len(text) {
			p.options = append(p.options, option{letter, text[i+1:]})
			return 1
		}
		return next(p, letter, words)
	}
	return 1
}

func (g grammar) longOption(p *parsed, text string, words []word) int {
	name, value, attached := strings.Cut(text, "=")
	switch {
	case attached && (slices.Contains(g.long, name+"=") || slices.Contains(g.long, name+"?")):
		p.options = append(p.options, option{name, value})
		return 1
	case !attached && (slices.Contains(g.long, name) || slices.Contains(g.long, name+"?")):
		p.options = append(p.options, option{name: name})
		return 1
	case !attached && slices.Contains(g.long, name+"="):
		return next(p, name, words)
	}
	return 0
}

// next takes the word after an option as its value.
func next(p *parsed, name string, words []word) int {
	if len(words) < 2 || !words[1].definite() {
		return 0
	}
	p.options = append(p.options, option{name, words[1].text})
	return 2
}

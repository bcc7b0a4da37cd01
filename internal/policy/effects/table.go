package effects

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

//go:embed commands.txt
var commands string

// entry is how a command may be called, as commands.txt has it.
type entry struct {
	operands    string
	least, most int // how many operands; most is -1 where there is no bound
	options     map[string]kind
	digits      bool
	builtin     bool
	// first and each are what operands must match, where they are set.
	first, each *regexp.Regexp
	forms       [][]*regexp.Regexp
}

// table has commands.txt by command. It panics at a mistake there, which is a
// part of the program.
var table = sync.OnceValue(func() map[string]*entry {
	all, lets := map[string]*entry{}, []string{}
	var e *entry
	for line := range strings.SplitSeq(commands, "\n") {
		key, rest, indented := strings.Cut(line, "\t")
		switch {
		case line == "" || line[0] == '#':
		case indented && key == "":
			key, rest, _ = strings.Cut(strings.NewReplacer(lets...).Replace(rest), " ")
			if name, value, _ := strings.Cut(rest, " "); key == "let" {
				lets = append(lets, "<"+name+">", value)
			} else {
				e.set(key, rest)
			}
		default:
			e, lets = &entry{options: map[string]kind{}}, nil
			at := strings.LastIndex(line, ": ")
			var bounds string
			e.operands, bounds, _ = strings.Cut(line[at+2:], " ")
			e.bound(bounds)
			for name := range strings.FieldsSeq(line[:at]) {
				all[name] = e
			}
		}
	}
	return all
})

// bound reads how many operands there may be: "", "1", "0-1", "1-".
func (e *entry) bound(text string) {
	least, most, isRange := strings.Cut(text, "-")
	e.most = -1
	_, _ = fmt.Sscan(least, &e.least)
	_, _ = fmt.Sscan(most, &e.most)
	switch {
	case e.operands == "none":
		e.most = 0
	case text != "" && !isRange:
		e.most = e.least
	}
}

func (e *entry) set(key, rest string) {
	switch key {
	case "flags", "values", "numbers", "attached":
		for _, letter := range rest {
			e.options["-"+string(letter)] = kind(strings.TrimSuffix(key, "s"))
		}
	case "long", "tests":
		for name := range strings.FieldsSeq(rest) {
			if key == "long" {
				name = "--" + name
			}
			kinds := map[byte]kind{'=': withValue, '?': optional}
			e.options[strings.TrimRight(name, "=?")] = cmp.Or(kinds[name[len(name)-1]], flag)
		}
	case "digits":
		e.digits = true
	case "builtin":
		e.builtin = true
	case "first":
		e.first = whole(rest)
	case "each":
		e.each = whole(rest)
	case "form":
		var form []*regexp.Regexp
		for word := range strings.FieldsSeq(rest) {
			form = append(form, whole(word))
		}
		e.forms = append(e.forms, form)
	default:
		panic("commands.txt: " + key + " is not known")
	}
}

// fits reports whether an expression matches all of a text.
func fits(expression, text string) bool { return whole(expression).MatchString(text) }

// whole is an expression for all of a text.
func whole(expression string) *regexp.Regexp {
	return regexp.MustCompile("^(?:" + expression + ")$")
}

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
	does        Kind // with its operands
	least, most int  // how many operands; most is -1 where there is no bound
	options     map[string]takes
	match       map[string]*regexp.Regexp // of options, "first" and "each"
	// marks are what else is said: "script", "below", … with their options.
	marks map[string][]string
}

// takes is what an option has for a value.
type takes string

const (
	flag     takes = "flag"     // none
	value    takes = "value"    // attached to it, or the next word
	attached takes = "attached" // only attached to it
)

// table has commands.txt by the words of a command, each with a zero at its
// end. It panics at a mistake there, which is a part of the program.
var table = sync.OnceValue(func() map[string]*entry {
	all, lets := map[string]*entry{}, []string{}
	var e *entry
	for line := range strings.SplitSeq(commands, "\n") {
		line = strings.NewReplacer(lets...).Replace(line)
		key, rest, _ := strings.Cut(strings.TrimPrefix(line, "\t"), " ")
		name, expression, _ := strings.Cut(rest, " ")
		switch at := strings.LastIndex(line, ": "); {
		case line == "" || line[0] == '#':
		case key == "let":
			lets = append(lets, "<"+name+">", expression)
		case line[0] == '\t':
			e.set(key, rest)
		default:
			e = newEntry(line[at+2:])
			for name := range strings.SplitSeq(line[:at], ", ") {
				all[strings.ReplaceAll(name, " ", "\x00")+"\x00"] = e
			}
		}
	}
	return all
})

// newEntry reads what a command does, and with how many operands: "", "1",
// "0-1", "1-".
func newEntry(text string) *entry {
	e := &entry{options: map[string]takes{}, match: map[string]*regexp.Regexp{}, marks: map[string][]string{}, most: -1}
	does, bounds, bounded := strings.Cut(text, " ")
	least, most, isRange := strings.Cut(bounds, "-")
	_, _ = fmt.Sscan(least, &e.least)
	_, _ = fmt.Sscan(most, &e.most)
	if e.does = Kind(does); bounded && !isRange {
		e.most = e.least
	}
	return e
}

func (e *entry) set(key, rest string) {
	switch key {
	case "flags", "values", "numbers", "attached":
		kind := takes(strings.TrimSuffix(key, "s"))
		for _, letter := range rest {
			name := "-" + string(letter)
			if e.options[name] = kind; key == "numbers" {
				e.options[name], e.match[name] = value, whole(`[+-]?[0-9]+[a-zA-Z]{0,3}`)
			}
		}
	case "long", "tests":
		e.marks[key] = []string{}
		for name := range strings.FieldsSeq(rest) {
			if key == "long" {
				name = "--" + name
			}
			kinds := map[byte]takes{'=': value, '?': attached}
			e.options[strings.TrimRight(name, "=?")] = cmp.Or(kinds[name[len(name)-1]], flag)
		}
	case "match":
		name, expression, _ := strings.Cut(rest, " ")
		e.match[name] = whole(expression)
	case "script", "below", "links", "tracked", "plain", "builtin":
		e.marks[key] = strings.Fields(rest)
	default:
		panic("commands.txt: " + key + " is not known")
	}
}

// is reports whether a line says so.
func (e *entry) is(mark string) bool { return e.marks[mark] != nil }

func (e *entry) obeys() Kind {
	if e.is("tracked") {
		return Tracked
	}
	return Obeys
}

// whole is an expression for all of a text.
func whole(expression string) *regexp.Regexp { return regexp.MustCompile("^(?:" + expression + ")$") }

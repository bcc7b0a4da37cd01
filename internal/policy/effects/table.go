package effects

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

//go:embed commands.txt
var commands string

// entry is how a command may be called, as commands.txt has it. It is matched
// with words that have a zero at their end, and \x01 before one with wildcards.
type entry struct {
	does        Kind // with its operands
	least, most int  // how many operands; most is -1 where there is no bound
	flags       string
	options     []string // expressions for an option with its value
	option      func() *regexp.Regexp
	// marks has the other lines, with what must match: "first" and "each"
	// operands; for the rest, options.
	marks map[string]*regexp.Regexp
}

const (
	valueText = `[^\x00\x01]*`
	zero      = "\x00"
)

// table has commands.txt by the words of a command. It panics at a mistake
// there, which is a part of the program.
var table = sync.OnceValue(func() map[string]*entry {
	all, lets := map[string]*entry{}, []string{}
	var e *entry
	for line := range strings.SplitSeq(commands, "\n") {
		line = strings.NewReplacer(lets...).Replace(line)
		key, rest, _ := strings.Cut(strings.TrimPrefix(line, "\t"), " ")
		switch at := strings.LastIndex(line, ": "); {
		case line == "" || line[0] == '#':
		case key == "let":
			name, expression, _ := strings.Cut(rest, " ")
			lets = append(lets, "<"+name+">", expression)
		case line[0] == '\t':
			e.set(key, rest)
		default:
			e = newEntry(line[at+2:])
			for name := range strings.SplitSeq(line[:at], ", ") {
				all[strings.ReplaceAll(name, " ", zero)+zero] = e
			}
		}
	}
	return all
})

// newEntry reads what a command does, and with how many operands: "", "1",
// "0-1", "1-".
func newEntry(text string) *entry {
	e := &entry{marks: map[string]*regexp.Regexp{}, most: -1, options: []string{`[^\s\S]`}}
	e.option = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:` + strings.Join(e.options, "|") + `)\x00`) })
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
	case "flags":
		e.flags = `[` + rest + `]*`
		e.options = append(e.options, `-[`+rest+`]+`)
	case "values", "numbers", "attached":
		forms := map[string]string{"values": `(\x00` + valueText + `|[^\x00\x01]+)`, "numbers": `\x00?[+-]?[0-9]+[a-zA-Z]{0,3}`, "attached": valueText}
		e.options = append(e.options, `-`+e.flags+`[`+rest+`]`+forms[key])
	case "long", "tests":
		before := map[string]string{"long": "--"}[key]
		for name := range strings.FieldsSeq(rest) {
			option := before + regexp.QuoteMeta(strings.TrimRight(name, "=?"))
			switch name[len(name)-1] {
			case '=':
				option += `[=\x00]` + valueText
			case '?':
				option += `(=` + valueText + `)?`
			}
			e.options = append(e.options, option)
		}
		e.marks[key] = nil
	case "form":
		e.options = append(e.options, rest)
	case "first", "each":
		e.marks[key] = regexp.MustCompile(`^(?:` + rest + `)$`)
	case "script", "below", "links":
		forms := []string{}
		for name := range strings.FieldsSeq(rest) {
			if forms = append(forms, name+`[=\x00]?`); name[1] != '-' { // the last letter of flags, or one with a value
				forms[len(forms)-1] = `-` + e.flags + name[1:] + `\x00?`
			}
		}
		if e.marks[key] = nil; rest != "" {
			e.marks[key] = regexp.MustCompile(`(?s)^(?:` + strings.Join(forms, "|") + `)(.*)\x00$`)
		}
	case "tracked", "plain", "builtin":
		e.marks[key] = nil
	default:
		panic("commands.txt: " + key + " is not known")
	}
}

func (e *entry) is(mark string) bool {
	_, ok := e.marks[mark]
	return ok
}

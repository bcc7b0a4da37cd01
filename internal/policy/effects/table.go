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

// entry is an accepted form of a command, from commands.txt. Its expressions match words
// with a zero byte after each, and \x01 before a word with wildcards.
type entry struct {
	does         Kind // to its operands
	least, limit int  // number of operands; limit is -1 for no limit
	flags        string
	options      []string // expressions for an option with its value
	option       func() *regexp.Regexp
	// marks has the expressions of the other lines: "first" and "each" match operands, the
	// rest options.
	marks map[string]*regexp.Regexp
}

const (
	valueText = `[^\x00\x01]*`
	zero      = "\x00"
)

// table has commands.txt by the words of a command. It panics on a mistake there, because
// the file is part of the program.
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

// newEntry reads the effect of a command and its number of operands: "", "1", "0-1", "1-".
func newEntry(text string) *entry {
	e := &entry{marks: map[string]*regexp.Regexp{}, limit: -1, options: []string{`[^\s\S]`}}
	e.option = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:` + strings.Join(e.options,
			"|") + `)\x00`)
	})
	does, bounds, bounded := strings.Cut(text, " ")
	least, limit, isRange := strings.Cut(bounds, "-")
	_, _ = fmt.Sscan(least, &e.least)
	_, _ = fmt.Sscan(limit, &e.limit)
	if e.does = Kind(does); bounded && !isRange {
		e.limit = e.least
	}
	return e
}

func (e *entry) set(key, rest string) {
	switch key {
	case "flags":
		e.flags = `[` + rest + `]*`
		e.options = append(e.options, `-[`+rest+`]+`)
	case "values", "numbers", "attached":
		forms := map[string]string{
			"values":  `(\x00` + valueText + `|[^\x00\x01]+)`,
			"numbers": `\x00?[+-]?[0-9]+[a-zA-Z]{0,3}`, "attached": valueText,
		}
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
			// the last letter of flags, or a letter with a value
			if forms = append(forms, name+`[=\x00]?`); name[1] != '-' {
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

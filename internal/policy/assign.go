package policy

import (
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// prefixes returns the assignments before a command that could change what it
// does.
func (s *script) prefixes(assigns []*syntax.Assign) []string {
	var list []string
	for _, a := range assigns {
		if a.Name != nil && !harmlessVariable(a.Name.Value, s.value(a)) {
			list = append(list, s.source(a))
		}
	}
	return list
}

func (s *script) value(a *syntax.Assign) string {
	if a.Value == nil || !static(a.Value.Parts) {
		return ""
	}
	return s.staticWord(a.Value).text
}

// harmlessVariable reports whether a variable that commands see changes
// nothing but what they show.
func harmlessVariable(name, value string) bool {
	if value == "cat" && slices.Contains([]string{"PAGER", "GIT_PAGER", "MANPAGER"}, name) || value == "0" && name == "GIT_TERMINAL_PROMPT" {
		return true
	}
	return strings.HasPrefix(name, "LC_") || slices.Contains([]string{
		"LANG", "LANGUAGE", "TZ", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "TERM", "IFS", "CI",
		"DEBIAN_FRONTEND", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "RUST_BACKTRACE", "RUST_LOG", "GOOS", "GOARCH", "CGO_ENABLED",
		"NODE_ENV", "DEBUG", "VERBOSE",
	}, name)
}

// assignments are those of a line without a command: they hold for what
// follows.
func (s *script) assignments(assigns []*syntax.Assign) {
	for _, a := range assigns {
		if a.Name != nil && !harmlessVariable(a.Name.Value, s.value(a)) {
			s.variable(a.Name.Value, s.source(a))
		}
	}
}

// variable adds a deed for a variable that is set and may be exported already.
// By custom those are in capitals.
func (s *script) variable(name, text string) {
	lower := strings.ContainsFunc(name, unicode.IsLower) && !strings.HasSuffix(name, "_proxy")
	if lower || harmlessVariable(name, "") {
		return
	}
	s.add(deed{kind: runs, text: text, words: []word{literal(text)}, why: "it sets " + name + " for the commands that follow"})
}

// declare looks at declare, export, local, readonly, typeset and nameref.
func (s *script) declare(n *syntax.DeclClause) {
	export := n.Variant.Value == "export"
	words := []word{literal(n.Variant.Value)}
	for _, a := range n.Args {
		words = append(words, word{text: s.source(a), known: a.Value == nil || static(a.Value.Parts)})
	}
	d := deed{kind: runs, text: s.source(n), words: words, safe: slices.ContainsFunc(n.Args, func(a *syntax.Assign) bool {
		return a.Name != nil // without a name it shows all variables
	})}
	for _, a := range n.Args {
		switch {
		case a.Name != nil && a.Naked:
			d.safe = d.safe && a.Index == nil
		case a.Name != nil && (export || s.exports(n)):
			d.safe = d.safe && harmlessVariable(a.Name.Value, s.value(a))
		case a.Name != nil:
			s.assignments([]*syntax.Assign{a})
		default:
			option := a.Value.Lit()
			d.safe = d.safe && option != "" && strings.Trim(option, "-+agrxAF") == ""
		}
	}
	if !d.safe {
		d.why = "it changes or shows variables, some for the commands that follow"
	}
	if s.evaluates(words) {
		s.hide(d.text, "it evaluates the subscript of a variable")
	}
	s.add(d)
}

func (s *script) exports(n *syntax.DeclClause) bool {
	return slices.ContainsFunc(n.Args, func(a *syntax.Assign) bool {
		return a.Name == nil && (a.Value.Lit() == "" || strings.Contains(a.Value.Lit(), "x"))
	})
}

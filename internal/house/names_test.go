package house_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxWideLines is the number of wide lines in older code; it must only decrease.
const maxWideLines = 2562

const (
	maxColumns         = 120
	tabWidth           = 4
	maxInternalEntries = 30
	maxRootFiles       = 20
)

// bannedNames are participles, pronouns, adverbs and adjectives that say nothing about the
// thing that they name.
func bannedNames() []string {
	return []string{
		"afresh", "again", "asked", "away", "bye", "came", "doubt", "far", "gate", "gave", "gone", "greet", "hands", "hasty",
		"hopeless", "hungry", "kids", "met", "news", "obey", "other", "over", "rouse", "said", "told", "took", "unwell", "whole", "wish",
	}
}

// metaphors are words for which the glossary has a standard term. They are also banned as a
// part of a name.
func metaphors() []string {
	return []string{
		"brain", "canary", "custody", "guest", "heir", "kin", "knock", "ladder", "lodger", "mourn", "rung", "rungs", "stairs",
		"stranger", "strangers", "vigil", "warden", "wardens",
	}
}

var (
	mostBound = regexp.MustCompile(`^[mM]ost([A-Z0-9]|$)`)
	namePart  = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]`) // initials one by one: "AGuest" is "A", "Guest"
)

// hasMetaphor reports whether a part of the name is a metaphor.
func hasMetaphor(name string) bool {
	return slices.ContainsFunc(namePart.FindAllString(name, -1), func(part string) bool {
		return slices.Contains(metaphors(), strings.ToLower(part))
	})
}

// banned reports whether a name breaks the rules. In tests, only metaphors are banned.
func banned(name string, test bool) bool {
	return hasMetaphor(name) ||
		!test && (slices.Contains(bannedNames(), strings.ToLower(name)) || mostBound.MatchString(name))
}

// declared calls f with each identifier that a file declares.
func declared(file *ast.File, f func(*ast.Ident)) {
	fields := func(list *ast.FieldList) {
		if list == nil {
			return
		}
		for _, field := range list.List {
			for _, name := range field.Names {
				f(name)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			f(n.Name)
			fields(n.Recv)
		case *ast.FuncType:
			fields(n.Params)
			fields(n.Results)
		case *ast.StructType:
			fields(n.Fields)
		case *ast.InterfaceType:
			fields(n.Methods)
		case *ast.TypeSpec:
			f(n.Name)
		case *ast.ValueSpec:
			for _, name := range n.Names {
				f(name)
			}
		case *ast.RangeStmt:
			for _, x := range []ast.Expr{n.Key, n.Value} {
				if name, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
					f(name)
				}
			}
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				if name, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
					f(name)
				}
			}
		}
		return true
	})
}

func TestNames(t *testing.T) {
	for _, s := range tree(t) {
		declared(s.file, func(name *ast.Ident) {
			if banned(name.Name, s.test) {
				t.Errorf(
					"%s:%d: %q says nothing, or the glossary has a term for it", s.name, s.line(name.Pos()), name.Name,
				)
			}
		})
	}
}

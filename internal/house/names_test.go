package house_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxBannedNames and maxWideLines are what is left of older code; they only go down.
const (
	maxBannedNames = 185
	maxWideLines   = 4221
)

const (
	maxColumns         = 120
	tabWidth           = 4
	maxInternalEntries = 30
	maxRootFiles       = 20
)

// bannedNames are participles, pronouns, adverbs and adjectives that say nothing about the
// thing that they name, and words for which the glossary has a standard term.
func bannedNames() []string {
	return []string{
		"afresh", "again", "asked", "away", "brain", "bye", "came", "canary", "custody", "doubt", "far", "gave", "gone",
		"greet", "guest", "hasty", "heir", "hopeless", "hungry", "kids", "kin", "knock", "ladder", "met", "mourn", "news",
		"obey", "other", "over", "rouse", "rung", "rungs", "said", "stairs", "stranger", "strangers", "told", "took",
		"unwell", "vigil", "warden", "whole", "wish",
	}
}

var mostBound = regexp.MustCompile(`^[mM]ost[A-Z0-9]`)

// banned reports whether a name breaks the rules.
func banned(name string) bool {
	return slices.Contains(bannedNames(), strings.ToLower(name)) || mostBound.MatchString(name)
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
	count := 0
	for _, s := range tree(t) {
		if s.test {
			continue
		}
		declared(s.file, func(name *ast.Ident) {
			if !banned(name.Name) {
				return
			}
			count++
			if *findings != "" && (*findings == "." || strings.HasPrefix(s.name, *findings)) {
				t.Logf("%s:%d: %s", s.name, s.line(name.Pos()), name.Name)
			}
		})
	}
	t.Logf("%d names", count)
	if count > maxBannedNames {
		t.Errorf("%d names that say nothing, at most %d; list them with -findings DIR", count, maxBannedNames)
	}
}

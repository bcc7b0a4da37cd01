package house_test

import (
	"go/ast"
	"strings"
	"testing"
)

const (
	maxFileLines     = 700
	maxFunctionLines = 80
	// tableLines is the size from which a literal is a table.
	tableLines = 8
)

func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		if ast.IsGenerated(s.file) {
			continue
		}
		if lines := s.line(s.file.FileEnd); lines > maxFileLines {
			t.Errorf("%s has %d lines, more than %d: one concept per file", s.name, lines, maxFileLines)
		}
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			lines := s.line(f.End()) - s.line(f.Pos()) + 1 - tables(s, f)
			if lines > maxFunctionLines {
				t.Errorf(
					"%s:%d: %s has %d lines, more than %d", s.name, s.line(f.Pos()), f.Name.Name, lines,
					maxFunctionLines,
				)
			}
		}
	}
}

// tables counts the lines of a function that are tables.
func tables(s source, f *ast.FuncDecl) int {
	lines := 0
	ast.Inspect(f, func(n ast.Node) bool {
		table, ok := n.(*ast.CompositeLit)
		if !ok || s.line(table.End())-s.line(table.Pos()) < tableLines {
			return true
		}
		lines += s.line(table.End()) - s.line(table.Pos())
		return false
	})
	return lines
}

// Each package has a package comment.
func TestPackagesAreDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		doc := s.file.Doc != nil && len(strings.Fields(s.file.Doc.Text())) >= 10
		documented[s.dir] = documented[s.dir] || doc
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

// Real time makes tests slow and sometimes wrong, and a skipped test proves
// nothing.
func TestTestsDoNotSleepOrSkip(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch name := called(call.Fun); name {
			case "t.Skip", "t.Skipf", "t.SkipNow":
				t.Errorf("%s:%d: %s", s.name, s.line(n.Pos()), name)
			case "time.Sleep":
				if !importsSynctest(s) {
					t.Errorf("%s:%d: time.Sleep outside virtual time", s.name, s.line(n.Pos()))
				}
			}
			return true
		})
	}
}

func importsSynctest(s source) bool {
	for _, spec := range s.file.Imports {
		if spec.Path.Value == `"testing/synctest"` {
			return true
		}
	}
	return false
}

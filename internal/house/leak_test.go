package house_test

import (
	"go/ast"
	"testing"
)

// Each package's tests count their leaks.
func TestTestsCountLeaks(t *testing.T) {
	counts := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		counts[s.dir] = counts[s.dir] || countsLeaks(s)
	}
	for dir, ok := range counts {
		if !ok && dir != "modeltest/leak" { // it is in the package that it tests
			t.Errorf("%s has tests that count no leaks: func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }", dir)
		}
	}
}

// countsLeaks reports whether the file calls leak.Run in TestMain, or in the Run method of the
// value that TestMain runs.
func countsLeaks(s source) bool {
	found := false
	for _, decl := range s.file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil || f.Name.Name != "TestMain" && f.Name.Name != "Run" {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			found = found || ok && called(call.Fun) == "leak.Run"
			return !found
		})
	}
	return found
}

package proc

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Every process that settle starts is in custody: nothing else in the module
// starts one. Tests may.
func TestNothingElseStartsProcesses(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(root, "internal", "proc")
	files := 0
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return skipDir(root, here, path, entry.Name())
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		for _, what := range starts(t, path) {
			t.Errorf("%s uses %s: processes are started by internal/proc only", path, what)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Errorf("no file was looked at below %q", root)
	}
}

// skipDir leaves out this package, other modules and what is no code.
func skipDir(root, here, path, name string) error {
	if path == here || name == "testdata" || len(name) > 1 && strings.HasPrefix(name, ".") {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != root {
		return filepath.SkipDir
	}
	return nil
}

// starts returns the ways in which a file may start processes.
func starts(t *testing.T, path string) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		if name, _ := strconv.Unquote(spec.Path.Value); name == "os/exec" {
			found = append(found, name)
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, ok := selector.X.(*ast.Ident)
		if !ok {
			return true
		}
		switch name := of.Name + "." + selector.Sel.Name; name {
		case "os.StartProcess", "syscall.ForkExec", "syscall.StartProcess", "pty.Start", "pty.StartWithSize", "pty.StartWithAttrs":
			found = append(found, name)
		}
		return true
	})
	return found
}

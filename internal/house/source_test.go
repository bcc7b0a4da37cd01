package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/settle-agent/settle"

// source is one Go file of the module.
type source struct {
	name string // from the module's root, with slashes
	dir  string // package, from the module's root; "." for the root
	test bool
	file *ast.File
	fset *token.FileSet
}

func (s source) line(at token.Pos) int { return s.fset.Position(at).Line }

// imports returns the packages of this module that the file imports, from the
// module's root, and the others as they are.
func (s source) imports() (ours, others []string) {
	for _, spec := range s.file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		switch rest, ok := strings.CutPrefix(path, module); {
		case !ok:
			others = append(others, path)
		case rest == "":
			ours = append(ours, ".")
		default:
			ours = append(ours, strings.TrimPrefix(rest, "/"))
		}
	}
	return ours, others
}

// parsed parses every Go file of the module, for all platforms, once.
var parsed = sync.OnceValues(func() ([]source, error) {
	root := filepath.Join("..", "..")
	var all []source
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(root, path, entry)
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		all = append(all, source{
			name: filepath.ToSlash(name), dir: filepath.ToSlash(filepath.Dir(name)),
			test: strings.HasSuffix(name, "_test.go"), file: file, fset: fset,
		})
		return nil
	})
	return all, err
})

func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d files were found", len(all))
	}
	return all
}

// enter leaves out what is not of the module.
func enter(root, path string, entry fs.DirEntry) error {
	if path == root {
		return nil
	}
	if name := entry.Name(); name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

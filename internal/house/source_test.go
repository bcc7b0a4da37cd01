package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
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

// parsed parses every Go file of the repository, for all platforms, once.
var parsed = sync.OnceValues(func() ([]source, error) {
	names, err := filesNamed(".go")
	if err != nil {
		return nil, err
	}
	var all []source
	for _, name := range names {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "../../"+name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		all = append(all, source{
			name: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), file: file, fset: fset,
		})
	}
	return all, nil
})

// tree returns the Go files of every module of the repository.
func tree(t *testing.T) []source {
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

// sources returns the Go files of the main module.
func sources(t *testing.T) []source {
	t.Helper()
	nested := files(t, "/go.mod") // of other modules
	return slices.DeleteFunc(slices.Clone(tree(t)), func(s source) bool {
		return slices.ContainsFunc(nested, func(mod string) bool {
			return strings.HasPrefix(s.name, strings.TrimSuffix(mod, "go.mod"))
		})
	})
}

// files returns the names of all files of the repository with a suffix, from its root and
// with slashes, in every module. It leaves out test data and programs that others made.
func files(t *testing.T, suffix string) []string {
	t.Helper()
	names, err := filesNamed(suffix)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func filesNamed(suffix string) (names []string, err error) {
	root := filepath.Join("..", "..")
	left := []string{"testdata", "node_modules", "dist"}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		switch base := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(base, ".") || slices.Contains(left, base)):
			return filepath.SkipDir
		case !entry.IsDir() && strings.HasSuffix(filepath.ToSlash(name), suffix):
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	return names, err
}

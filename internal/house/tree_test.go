package house_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// files returns the names of all files of the repository with a suffix, from its root and
// with slashes, in every module. It leaves out test data and programs that others made.
func files(t *testing.T, suffix string) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	left := []string{"testdata", "node_modules", "dist"}
	var names []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || slices.Contains(left, name)):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, suffix):
			return nil
		}
		name, err := filepath.Rel(root, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// tree parses the Go files of every module of the repository.
func tree(t *testing.T) []source {
	t.Helper()
	all := sources(t)
	for _, name := range files(t, ".go") {
		if slices.ContainsFunc(all, func(s source) bool { return s.name == name }) {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "../../"+name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, source{
			name: name, dir: filepath.ToSlash(filepath.Dir(name)),
			test: strings.HasSuffix(name, "_test.go"), file: file, fset: fset,
		})
	}
	return all
}

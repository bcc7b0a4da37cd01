package house_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxUnnamed is the number of files that their package comments do not name yet. It only decreases.
const maxUnnamed = 0

// platforms are the systems, and groups of systems, at the end of a file's name.
var platforms = regexp.MustCompile(`(_(linux|darwin|windows|unix|bsd|other|amd64|arm64))+$`)

// The comment of a package with four or more files names each of them, so that a reader
// finds the file to change. The variants of a file for several platforms count as one: x.go
// and x_linux.go are both named by either name.
func TestPackageCommentsNameFiles(t *testing.T) {
	files, comments := map[string][]string{}, map[string]string{}
	for _, s := range tree(t) {
		if s.test {
			continue
		}
		files[s.dir] = append(files[s.dir], path.Base(s.name))
		if s.file.Doc != nil {
			comments[s.dir] += s.file.Doc.Text() + path.Base(s.name) // the comment's own file
		}
	}
	unnamed := missingNames(files, comments)
	if len(unnamed) > maxUnnamed {
		t.Errorf(
			"%d files are not in the file map of their package comment, %d were; add what each decides, in three to eight words:\n%s",
			len(unnamed),
			maxUnnamed,
			strings.Join(unnamed[:min(len(unnamed), 40)], "\n"),
		)
	}
	if len(unnamed) < maxUnnamed {
		t.Errorf("only %d files are not named; set maxUnnamed to %d", len(unnamed), len(unnamed))
	}
}

// missingNames returns the files, by their folders, that the folder's comment does not name.
func missingNames(files map[string][]string, comments map[string]string) (unnamed []string) {
	goFile := regexp.MustCompile(`\b[a-z0-9_/]+\.go\b`)
	for dir, names := range files {
		if len(names) < 4 || strings.Contains(dir, "testdata") {
			continue
		}
		named := map[string]bool{"doc": true}
		for _, name := range goFile.FindAllString(comments[dir], -1) {
			named[withoutPlatform(name)] = true
		}
		for _, name := range names {
			if !named[withoutPlatform(name)] {
				unnamed = append(unnamed, dir+"/"+name)
			}
		}
	}
	slices.Sort(unnamed)
	return unnamed
}

func withoutPlatform(name string) string {
	return platforms.ReplaceAllString(strings.TrimSuffix(name, ".go"), "")
}

func TestMissingNamesFindsUnnamedFile(t *testing.T) {
	files := map[string][]string{
		"a": {"doc.go", "run.go", "wait_linux.go", "wait_other.go", "pump.go"},
		"b": {"few.go", "files.go", "here.go"},
	}
	comments := map[string]string{"a": "Package a runs.\n\n  - run.go: starts programs\n  - wait_linux.go: waits\n"}
	if got := missingNames(files, comments); !slices.Equal(got, []string{"a/pump.go"}) {
		t.Errorf("unnamed: %q", got)
	}
}

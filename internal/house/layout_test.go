package house_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLinesFitTheScreen(t *testing.T) {
	wide := 0
	for _, name := range files(t, ".go") {
		content, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(content), "\n") {
			if columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", strings.Repeat(" ", tabWidth))); columns <= maxColumns {
				continue
			}
			wide++
			if *findings != "" && (*findings == "." || strings.HasPrefix(name, *findings)) {
				t.Logf("%s:%d", name, i+1)
			}
		}
	}
	t.Logf("%d lines", wide)
	if wide > maxWideLines {
		t.Errorf(
			"%d lines have more than %d columns, at most %d may; list them with -findings DIR", wide, maxColumns,
			maxWideLines,
		)
	}
}

func TestTreeIsNarrow(t *testing.T) {
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) > maxInternalEntries {
		t.Errorf(
			"internal/ has %d entries, at most %d: merge packages into the owner of their subject", len(entries),
			maxInternalEntries,
		)
	}
	root, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	root = slices.DeleteFunc(root, func(e os.DirEntry) bool {
		return !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go")
	})
	if len(root) > maxRootFiles {
		t.Errorf("the root package has %d files, at most %d", len(root), maxRootFiles)
	}
}

package page_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// The package comment has each file of the page, and no other.
func TestPackageCommentNamesAssets(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\b[a-z]+\.(?:js|css|html|webmanifest)\b`).FindAllString(string(doc), -1)
	entries, err := os.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		files = append(files, e.Name())
		if !slices.Contains(named, e.Name()) && e.Name() != "icon.svg" {
			t.Errorf("the package comment does not name %q", e.Name())
		}
	}
	for _, name := range named {
		if !slices.Contains(files, name) {
			t.Errorf("the package comment names %q, which is not in assets", name)
		}
	}
}

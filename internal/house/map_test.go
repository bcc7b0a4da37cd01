package house_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The map in CONTRIBUTING.md names files and folders. A name without a folder is in the
// folder that the row names before it.
func TestMapNamesExistingFiles(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## Map\n")
	table, _, _ = strings.Cut(table, "\n## ")
	names, rows := regexp.MustCompile("`([a-z][a-zA-Z0-9_./-]*)`"), 0
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		rows++
		_, where, _ := strings.Cut(line[2:], " | ")
		folder := ""
		for _, match := range names.FindAllStringSubmatch(where, -1) {
			name := match[1]
			info, err := os.Stat("../../" + name)
			if err != nil {
				_, err = os.Stat("../../" + folder + "/" + name)
			} else if info.IsDir() {
				folder = name
			}
			if err != nil {
				t.Errorf("there is no %q: %s", name, strings.TrimSpace(line))
			}
		}
	}
	if rows < 20 {
		t.Errorf("the map has %d rows", rows)
	}
	// Each folder of the repository is in the map.
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && e.Name() != "tools" &&
			!strings.Contains(table, "`"+e.Name()) {
			t.Errorf("the map does not have the folder %q", e.Name())
		}
	}
}

// A package comment names files that exist: of its package, or from the module's root.
func TestPackageCommentsNameExistingFiles(t *testing.T) {
	names := regexp.MustCompile(`\b[a-z][a-z0-9_/]*\.go\b`)
	for _, s := range sources(t) {
		if s.file.Doc == nil || s.test {
			continue
		}
		for _, name := range names.FindAllString(s.file.Doc.Text(), -1) {
			place := "../../" + s.dir + "/" + name
			if strings.Contains(name, "/") {
				place = "../../" + name
			}
			if _, err := os.Stat(place); err != nil {
				t.Errorf("%s: its comment names %s, which does not exist", s.name, name)
			}
		}
	}
}

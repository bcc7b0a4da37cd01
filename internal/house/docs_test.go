package house_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

var (
	pageLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageHeading = regexp.MustCompile(`^#+ +(.*)`)
	remoteLink  = regexp.MustCompile(`^[a-z]+:`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{M}\p{N}\p{Pc}\- ]`)
)

// page is a Markdown file: its links and anchors, and its lines of code.
type page struct {
	links   []string
	anchors map[string]bool
	code    []string
}

// parsePage returns the parts of a Markdown file.
func parsePage(raw []byte) page {
	p, fence := page{anchors: map[string]bool{}}, false
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fence = !fence
		case fence:
			p.code = append(p.code, line)
		default:
			if heading := pageHeading.FindStringSubmatch(line); heading != nil {
				anchor := notInAnchor.ReplaceAllString(strings.ToLower(pageLink.ReplaceAllString(heading[1], "")), "")
				p.anchors[strings.ReplaceAll(anchor, " ", "-")] = true
			}
			for _, link := range pageLink.FindAllStringSubmatch(line, -1) {
				p.links = append(p.links, link[1])
			}
		}
	}
	return p
}

// readPages returns the pages at the top of the repository and below docs, by path.
func readPages(t *testing.T, root string) map[string]page {
	t.Helper()
	pages := map[string]page{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		if e.IsDir() && name != "." && name != "docs" && !strings.HasPrefix(name, "docs/") {
			return filepath.SkipDir
		}
		if filepath.Ext(name) != ".md" {
			return nil
		}
		raw, err := os.ReadFile(path)
		pages[name] = parsePage(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// TestLinksOfPagesLeadSomewhere checks the relative links of all pages, with anchors.
func TestLinksOfPagesLeadSomewhere(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := readPages(t, root)
	for name, p := range pages {
		for _, link := range p.links {
			if remoteLink.MatchString(link) {
				continue
			}
			target, anchor, _ := strings.Cut(link, "#")
			target = filepath.ToSlash(filepath.Join(filepath.Dir(name), target))
			if strings.HasPrefix(link, "#") {
				target = name
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, link)
			} else if linked, ok := pages[target]; ok && anchor != "" && !linked.anchors[anchor] {
				t.Errorf("%s links to %s, whose page has no such heading", name, link)
			}
		}
	}
}

// TestCodeOfPagesFits checks that a reader of the site scrolls no block of code sideways.
// The example of events.md is exempt: its lines are events to the byte.
func TestCodeOfPagesFits(t *testing.T) {
	const maxColumns = 90
	for name, p := range readPages(t, filepath.Join("..", "..")) {
		for _, line := range p.code {
			if n := utf8.RuneCountInString(line); n > maxColumns && !strings.HasPrefix(line, `{"v":1,`) {
				t.Errorf("%s: a line of code has %d columns: %s", name, n, line)
			}
		}
	}
}

// TestReadmeIsShort checks that README.md stays a first page.
func TestReadmeIsShort(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(raw, []byte("\n")); n > 120 {
		t.Errorf("README.md has %d lines", n)
	}
}

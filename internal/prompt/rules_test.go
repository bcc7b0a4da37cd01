package prompt_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/prompt"
	"github.com/settle-agent/settle/internal/repo"
)

// Rules with paths are for matching files; others belong to the system prompt.
func TestRules(t *testing.T) {
	root := tree(t, map[string]string{
		".git/HEAD":                   "",
		".claude/rules/always.md":     "Always.",
		".claude/rules/headed.md":     "---\ndescription: x\n---\nAlso always.",
		".claude/rules/ts.md":         "---\npaths: \"src/**/*.{ts,tsx}\"\n---\nFor TypeScript.",
		".claude/rules/deep/api.md":   "---\npaths:\n  - \"src/api/**\"\n  - ./web/*.css\n---\nFor the API.",
		".claude/rules/broken.md":     "---\npaths: \"[\"\n---\nBroken.",
		".claude/rules/empty.md":      "---\npaths:\n---\nNothing.",
		".claude/rules/out.md":        "-> ../../../secret.md",
		".claude/rules/notes.txt":     "no rule",
		"web/.claude/rules/here.md":   "In web.",
		"web/.claude/rules/css.md":    "---\npaths: \"*.css\"\n---\nFor style.",
		"vendor/x/.claude/rules/a.md": "Of a dependency.",
		"src/a.ts":                    "", "src/api/b.go": "", "web/x.css": "", "web/y.js": "", "vendor/x/x.go": "",
	})
	o := options(root)
	text := prompt.Build(o).Text
	for says, want := range map[string]bool{
		"Always.": true, "Also always.": true, "TypeScript": false, "For the API": false, "Broken": false,
		"Nothing": false, "no rule": false, "In web": false,
	} {
		if strings.Contains(text, says) != want {
			t.Errorf("the prompt has %q: %t", says, !want)
		}
	}
	for _, tt := range []struct {
		places, want string
	}{
		{"src/a.ts", "ts.md"},
		{"src/api/b.go", "deep/api.md"},
		{"src/a.ts src/api/b.go", "deep/api.md ts.md"},
		{"web/x.css", "deep/api.md css.md here.md"},
		{"web/y.js", "here.md"},
		{"vendor/x/x.go", ""},
		{"README.md ../elsewhere.ts", ""},
	} {
		var places, got []string
		for _, place := range strings.Fields(tt.places) {
			places = append(places, filepath.Join(root, place))
		}
		for _, one := range prompt.Nested(o.Sources, places) {
			_, name, _ := strings.Cut(filepath.ToSlash(one.Path), ".claude/rules/")
			got = append(got, name)
			if strings.Contains(one.Text, "paths") {
				t.Errorf("%s has its head: %q", name, one.Text)
			}
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s:\n%s", tt.places, diff)
		}
	}
}

// A broken rule of a folder below the working directory is named when the work reaches the folder.
func TestBrokenNestedRuleIsNamed(t *testing.T) {
	root := tree(t, map[string]string{
		"r/.git/HEAD": "", "r/web/x.css": "", "r/web/.claude/rules/bad.md": "---\npaths: ['[']\n---\nUse tabs.\n",
	})
	r := filepath.Join(root, "r")
	from := prompt.Sources{Project: repo.Trust{}.Project(r)}
	got := prompt.Nested(from, []string{filepath.Join(r, "web/x.css")})
	if len(got) != 1 || got[0].Path != filepath.Join(r, "web") || strings.Contains(got[0].Text, "Use tabs") ||
		!strings.Contains(got[0].Text, `bad.md was left out: its path "[" is no pattern`) {
		t.Errorf("it names %+v", got)
	}
}

// A pattern cannot take long: matching tries each alternative of its braces.
func TestRulePathsAreBounded(t *testing.T) {
	deep := strings.Repeat("{", 20) + "a,b" + strings.Repeat("}{a,b", 19) + "}"
	for name, paths := range map[string]string{
		"pairs": strings.Repeat("{,}", 40) + "zz", "nested": "{" + strings.Repeat("{,}", 40) + "}zz",
		"escaped": strings.Repeat(`{\\},x}`, 40) + "zz", "deep": deep, "long": strings.Repeat("*", 1000),
		"many": strings.Repeat("a, ", 100) + "a",
	} {
		root := tree(t, map[string]string{
			".git/HEAD": "", ".claude/rules/a.md": "---\npaths: '" + paths + "'\n---\nSlow.",
			strings.Repeat("x", 40) + ".go": "",
		})
		o := options(root)
		p := prompt.Build(o)
		if !strings.Contains(strings.Join(p.Notes, "\n"), "a.md was left out: ") {
			t.Errorf("%s: the notes are %q", name, p.Notes)
		}
		if got := prompt.Nested(o.Sources, []string{filepath.Join(root, strings.Repeat("x", 40)+".go")}); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

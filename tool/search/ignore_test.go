//go:build machine

package search

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/settle-agent/settle/internal/disk"
)

// walked returns the files that a walk visits.
func walked(t interface {
	Context() context.Context
	Fatal(...any)
}, dir string,
) []string {
	var files []string
	at, err := disk.Locate(dir, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = walk(t.Context(), at, func(e entry) error {
		if !e.IsDir() {
			files = append(files, e.rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

// gitFiles returns the files that git would add.
func gitFiles(t interface{ Fatal(...any) }, dir string) []string {
	var files []string
	for _, name := range strings.Split(git(t, dir, "ls-files", "--others", "--exclude-standard", "-z"), "\x00") {
		if name != "" {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return files
}

func TestIgnoreAsGit(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
	}{
		{"plain", map[string]string{
			".gitignore": "a\n*.log\n", "a": "", "b/a": "", "c.log": "", "b/c.log": "",
			"ab": "",
		}},
		{"anchored", map[string]string{".gitignore": "/a\nb/c\n", "a": "", "x/a": "", "b/c": "", "x/b/c": ""}},
		{"directories", map[string]string{".gitignore": "build/\n", "build/x": "", "a/build": "", "a/b/build/y": ""}},
		{"negation", map[string]string{
			".gitignore": "*.txt\n!keep.txt\n", "a.txt": "", "keep.txt": "",
			"d/keep.txt": "",
		}},
		{
			"negation below an ignored directory",
			map[string]string{".gitignore": "d/\n!d/keep\n", "d/keep": "", "d/x": ""},
		},
		{"negation below contents", map[string]string{".gitignore": "d/*\n!d/keep\n", "d/keep": "", "d/x": ""}},
		{"nested", map[string]string{
			".gitignore": "*.x\n", "d/.gitignore": "!a.x\nlocal\n", "a.x": "", "d/a.x": "",
			"d/b.x": "", "d/local": "", "local": "", "d/e/local": "",
		}},
		{"nested anchored", map[string]string{
			"d/.gitignore": "/a\ne/f\n", "a": "", "d/a": "", "d/e/a": "",
			"d/e/f": "", "e/f": "",
		}},
		{"double star", map[string]string{
			".gitignore": "**/a\nb/**\nc/**/d\n", "a": "", "x/a": "", "b/x/y": "",
			"b/z": "", "c/d": "", "c/e/d": "", "c/e/f/d": "", "c/x": "",
		}},
		{"double star elsewhere", map[string]string{
			".gitignore": "a**b\nc/d**e\n", "axb": "", "a/b": "", "c/dxe": "",
			"c/d/e": "",
		}},
		{"double star after a prefix", map[string]string{
			".gitignore": "a**/**\n!/ab**\nc/d**/e\n", "a.x": "",
			"a/b": "", "ab": "", "b": "", "c/d": "", "c/dx/e": "", "c/dx/y/e": "", "c/de": "",
		}},
		{"star and slash", map[string]string{".gitignore": "a/*/c\n", "a/c": "", "a/b/c": "", "a/b/b/c": ""}},
		{"brackets", map[string]string{
			".gitignore": "[ab]1\n[!ab]2\n[^c]3\n[a-c]4\n[]]5\n[[:digit:]]6\n[a\n",
			"a1":         "", "c1": "", "a2": "", "c2": "", "c3": "", "d3": "", "b4": "", "d4": "", "]5": "", "76": "",
			"x6": "", "[a": "", "a": "",
		}},
		{"question", map[string]string{".gitignore": "?x\n", "ax": "", "x": "", "abx": "", "éx": ""}},
		{"escapes", map[string]string{
			".gitignore": "\\#a\n\\!b\n\\*c\nd\\ \ne  \nf\\\\g\n", "#a": "", "!b": "",
			"*c": "", "xc": "", "d ": "", "e": "", "f\\g": "",
		}},
		{"comments and blanks", map[string]string{".gitignore": "# a\n\n   \n#b\n!\n/\n", "a": "", "#b": "", "b": ""}},
		{"CRLF and BOM", map[string]string{".gitignore": "\uFEFFa\r\nb\r\n", "a": "", "b": ""}},
		{"no newline at the end", map[string]string{".gitignore": "a", "a": "", "b": ""}},
		{"trailing backslash", map[string]string{".gitignore": "a\\\n", "a": "", "a\\": ""}},
		{"exclude file", map[string]string{".git/info/exclude": "a\nb\n", ".gitignore": "!b\n", "a": "", "b": ""}},
		{"later rule wins", map[string]string{".gitignore": "a\n!a\n", "d/.gitignore": "a\n", "a": "", "d/a": ""}},
		{"hidden files", map[string]string{".gitignore": ".env\n", ".env": "", ".github/w.yml": ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			git(t, dir, "init", "-q")
			put(t, dir, tt.files)
			if diff := cmp.Diff(gitFiles(t, dir), walked(t, dir)); diff != "" {
				t.Errorf("(-git +walk):\n%s", diff)
			}
		})
	}
}

// For any rules and any tree, the walk visits the files that git adds.
func TestIgnoreProperty(t *testing.T) {
	token := rapid.SampledFrom([]string{
		"a", "b", "ab", "*", "**", "?", "/", "/", "[ab]", "[!a]", "\\a", "!", "*.x",
		".x", " ",
	})
	pattern := rapid.Map(rapid.SliceOfN(token, 1, 6), func(s []string) string { return strings.Join(s, "") })
	rules := rapid.Map(rapid.SliceOfN(pattern, 0, 4), func(s []string) string { return strings.Join(s, "\n") })
	name := rapid.SampledFrom([]string{"a", "b", "ab", "a.x", "ba"})
	path := rapid.Map(rapid.SliceOfN(name, 1, 4), func(s []string) string { return strings.Join(s, "/") })
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "case")
		if err != nil {
			t.Fatal(err)
		}
		git(t, dir, "init", "-q")
		for _, p := range rapid.SliceOfN(path, 1, 12).Draw(t, "paths") {
			// A path through another path's file is skipped.
			_ = os.MkdirAll(filepath.Join(dir, filepath.Dir(p)), 0o755)
			_ = os.WriteFile(filepath.Join(dir, p), nil, 0o644)
		}
		put(t, dir, map[string]string{".gitignore": rules.Draw(t, "rules")})
		if info, err := os.Stat(filepath.Join(dir, "a")); err == nil && info.IsDir() {
			put(t, dir, map[string]string{"a/.gitignore": rules.Draw(t, "nested rules")})
		}
		if diff := cmp.Diff(gitFiles(t, dir), walked(t, dir)); diff != "" {
			t.Fatalf("(-git +walk):\n%s", diff)
		}
	})
}

func TestWalkFromBelowTheTop(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	put(t, dir, map[string]string{
		".gitignore": "*.log\n/d/e/skip\nvendor/\n", "d/e/a.log": "", "d/e/skip": "",
		"d/e/keep": "", "vendor/v": "",
	})
	if diff := cmp.Diff([]string{"keep"}, walked(t, filepath.Join(dir, "d", "e"))); diff != "" {
		t.Error(diff)
	}
	// A search of an ignored directory by name includes its files.
	if diff := cmp.Diff([]string{"v"}, walked(t, filepath.Join(dir, "vendor"))); diff != "" {
		t.Error(diff)
	}
}

func TestNestedRepositoryHasItsOwnRules(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	put(t, dir, map[string]string{".gitignore": "*.log\n", "sub/.git/HEAD": "", "sub/a.log": "", "a.log": ""})
	if diff := cmp.Diff([]string{".gitignore", "sub/a.log"}, walked(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// git runs git in a directory. Its exit code is no error: check-ignore answers with it.
func git(t interface{ Fatal(...any) }, dir string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out)
}

package files

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func place(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestMatch(t *testing.T) {
	l := newList([]string{
		"README.md", "cmd/settle/main.go", "cmd/settle/tui.go", "internal/face/tui/face.go", "internal/face/tui/keys.go", "internal/terminal/screen.go",
		"docs/terminal.md", "maintenance.txt", "Makefile",
	})
	for words, want := range map[string][]string{
		"":          {"Makefile", "README.md", "cmd/"},
		"main":      {"maintenance.txt", "cmd/settle/main.go"},
		"main.go":   {"cmd/settle/main.go"},
		"tui":       {"cmd/settle/tui.go", "internal/face/tui/", "internal/face/tui/face.go"},
		"tui/":      {"internal/face/tui/", "internal/face/tui/face.go", "internal/face/tui/keys.go"},
		"fckey":     {"internal/face/tui/keys.go"},
		"M":         {"Makefile", "README.md"},
		"terminal":  {"docs/terminal.md", "internal/terminal/", "internal/terminal/screen.go"},
		"docs":      {"docs/", "docs/terminal.md"},
		"nosuch":    {},
		"cmd/se/tu": {"cmd/settle/tui.go"},
	} {
		if diff := cmp.Diff(want, l.Match(words, 3)); diff != "" {
			t.Errorf("%q: %s", words, diff)
		}
	}
}

// Files that git ignores are left out; files that git does not know yet are listed.
func TestRead(t *testing.T) {
	dir := place(t, "a.go", "sub/b.go", "sub/ignored.log", ".gitignore", "new.txt")
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*.log\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return // the index is read as git writes it, and there is none here
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "a.go", "sub/b.go", ".gitignore"}} {
		cmd := exec.Command(git, args...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=/usr/bin:/bin"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	if got := tracked(dir); !slices.Equal(got, []string{".gitignore", "a.go", "sub/b.go"}) {
		t.Errorf("tracked: %q", got)
	}
	if got := tracked(filepath.Join(dir, "sub")); !slices.Equal(got, []string{"b.go"}) {
		t.Errorf("tracked below: %q", got)
	}
	want := []string{".gitignore", "a.go", "new.txt", "sub/", "sub/b.go"}
	if diff := cmp.Diff(want, Read(t.Context(), dir).Match("", 10)); diff != "" {
		t.Error(diff)
	}
}

// Outside of git, a walk finds the files.
func TestReadWithoutGit(t *testing.T) {
	dir := place(t, "x/y.txt", "z")
	if got := Read(t.Context(), dir).Match("", 10); !slices.Equal(got, []string{"x/", "z", "x/y.txt"}) {
		t.Errorf("%q", got)
	}
}

func BenchmarkMatch(b *testing.B) {
	var names []string
	for n := range 50_000 {
		names = append(
			names,
			filepath.Join(
				"internal", "package"+string(rune('a'+n%26)), "file", string(rune('a'+n/26%26)),
				"name"+string(rune('a'+n/676%26))+"_test.go",
			),
		)
	}
	l := newList(names)
	for b.Loop() {
		l.Match("pctest", 8)
	}
}

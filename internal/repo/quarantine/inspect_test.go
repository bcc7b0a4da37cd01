package quarantine

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Each change of a part of the user's repository that git obeys is found, also of large files, of rights
// and of what an older form of configuration says; unchanged parts stay.
func TestGuardFindsChangesOfUsersParts(t *testing.T) {
	large := strings.Repeat("x", maxFile)
	write := func(content string) func(path string) error {
		return func(path string) error { return os.WriteFile(path, []byte(content), 0o600) }
	}
	sized := func(size int64) func(path string) error {
		return func(path string) error { return os.Truncate(path, size) }
	}
	for name, tt := range map[string]struct {
		file, moved    string
		before, change func(path string) error
	}{
		"a large hook":       {"hooks/pre-commit", "hooks", write(large + "mine"), write(large + "evil")},
		"a very large hook":  {"hooks/pre-commit", "hooks", sized(maxIdentified + 2), write("evil")},
		"its size":           {"hooks/pre-commit", "hooks", sized(maxIdentified + 2), sized(maxIdentified + 3)},
		"its content":        {"hooks/pre-commit", "hooks", sized(maxIdentified + 2), overwrite},
		"rights of a hook":   {"hooks/pre-commit", "hooks", write("mine"), enable},
		"a file of a hook":   {"hooks/lib/x", "hooks", write("mine"), write("evil")},
		"a remote":           {"remotes/origin", "remotes", write("URL: a"), write("URL: b")},
		"a branch":           {"branches/origin", "branches", write("a"), write("b")},
		"a large config":     {"config", "config", write("#" + large + "mine"), write("#" + large + "evil")},
		"a list of a rebase": {"rebase-merge/git-rebase-todo", "rebase-merge", write("x a"), write("x b")},
		"another file of it": {"rebase-merge/done", "rebase-merge", write("x a"), write("x b")},
	} {
		t.Run(name, func(t *testing.T) {
			dir := real(t)
			path := filepath.Join(dir, "n/.git", tt.file)
			files(t, dir, repository("n/.git", ""))
			if name == "another file of it" {
				files(t, dir, map[string]string{"n/.git/rebase-merge/git-rebase-todo": "x a"})
			}
			files(t, dir, map[string]string{"n/.git/" + tt.file: ""})
			if err := tt.before(path); err != nil {
				t.Fatal(err)
			}
			g := guarded(t, dir)
			if found := g.Check(t.Context()); found != nil {
				t.Fatalf("unchanged: %v", found)
			}
			if err := tt.change(path); err != nil {
				t.Fatal(err)
			}
			found := g.Check(t.Context())
			if len(found) != 1 || found[0].Path != filepath.Join(dir, "n/.git", tt.moved) || found[0].Moved == "" {
				t.Errorf("changed: %v", found)
			}
		})
	}
}

// A repository's entry that appears deeper than the longest path of the kernel is found.
func TestGuardFindsEntriesBehindLongPaths(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // other systems report no names
	}
	dir := real(t)
	deep, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		name := strings.Repeat("d", 250)
		if err := deep.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		below, err := deep.OpenRoot(name)
		_ = deep.Close() // it was only opened
		if deep = below; err != nil {
			t.Fatal(err)
		}
	}
	defer deep.Close()
	g := guarded(t, dir)
	if err := deep.WriteFile(".git", []byte("gitdir: /elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := g.Check(t.Context()); len(found) != 1 || found[0].Moved == "" {
		t.Errorf("found %v", found)
	}
}

// overwrite changes a file in place, and neither its size nor its time of modification.
func overwrite(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte("evil"), 0); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Chtimes(path, info.ModTime(), info.ModTime())
}

func enable(path string) error { return os.Chmod(path, 0o700) }

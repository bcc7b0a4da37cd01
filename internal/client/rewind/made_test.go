package rewind

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Directories that a file tool created are removed with the file, and come back with it. Directories
// that existed, or that have something else, stay.
func TestDirectoriesOfNewFiles(t *testing.T) {
	outside := t.TempDir()
	outside, err := filepath.EvalSymlinks(outside)
	if err != nil {
		t.Fatal(err)
	}
	abs := filepath.ToSlash(filepath.Join(outside, "x", "y"))
	for name, tt := range map[string]struct {
		calls    []call
		before   func(*bench)
		then     func(*bench)
		isKilled bool
		do       []string
		left     []string // directories besides the first ones
	}{
		"created": {
			calls: []call{write("a/b/new", "n\n"), write("a/c/new", "n\n")},
			do:    []string{"remove a", "remove a/b", "remove a/b/new", "remove a/c", "remove a/c/new"},
		},
		"patched": {
			calls: []call{patch("*** Add File: a/b/new", "+n", "*** Add File: a/c", "+n")},
			do:    []string{"remove a", "remove a/b", "remove a/b/new", "remove a/c"},
		},
		"moved": {
			calls: []call{patch("*** Update File: old/f", "*** Move to: a/b/f", "-1", "+2")},
			do:    []string{"recreate old/f", "remove a", "remove a/b", "remove a/b/f"},
		},
		"existing": {calls: []call{write("empty/new", "n\n")}, do: []string{"remove empty/new"}},
		"through a link": {
			before: func(b *bench) { b.link("empty", "link") },
			calls:  []call{write("link/a/new", "n\n")},
			do:     []string{"remove empty/a", "remove link/a/new"},
		},
		"occupied": {
			calls: []call{write("a/b/c/new", "n\n")},
			then:  func(b *bench) { b.put("a/b/mine", "m\n") },
			do:    []string{"keep a", "keep a/b", "remove a/b/c", "remove a/b/c/new"},
			left:  []string{"a", "a/b"},
		},
		"outside": {
			calls: []call{write(abs+"/new", "n\n")},
			do:    []string{"remove " + filepath.ToSlash(filepath.Dir(abs)), "remove " + abs, "remove " + abs + "/new"},
		},
		"killed": {
			calls: []call{write("a/b/new", "n\n")}, isKilled: true,
			do: []string{"remove a", "remove a/b", "remove a/b/new"},
		},
		"killed before the write": {
			calls: []call{write("a/b/new", "n\n")}, isKilled: true,
			then: func(b *bench) { b.remove("a/b/new") },
			do:   []string{"remove a", "remove a/b", "same a/b/new"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := work(t, map[string]string{"old/f": "1\n"})
			if err := os.Mkdir(b.path("empty"), 0o755); err != nil {
				t.Fatal(err)
			}
			if tt.before != nil {
				tt.before(b)
			}
			begin := directories(t, b.dir, outside)
			b.turns(tt.calls)
			if tt.then != nil {
				tt.then(b)
			}
			if tt.isKilled {
				b.cut(1, "killed")
			}
			made := directories(t, b.dir, outside)
			p := b.plan("")
			if diff := cmp.Diff(tt.do, did(p)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			r := b.fork(p)
			want := map[string]bool{}
			for path := range begin {
				want[path] = true
			}
			for _, path := range tt.left {
				want[b.path(path)] = true
			}
			if diff := cmp.Diff(want, directories(t, b.dir, outside)); diff != "" {
				t.Errorf("after the rewind (-want +got):\n%s", diff)
			}
			if r.Snapshot == "" {
				return
			}
			b.undo(r.Snapshot)
			if diff := cmp.Diff(made, directories(t, b.dir, outside)); diff != "" {
				t.Errorf("undone (-want +got):\n%s", diff)
			}
			if err := os.RemoveAll(filepath.Dir(abs)); err != nil {
				t.Error(err)
			}
		})
	}
}

func (b *bench) link(target, name string) {
	b.Helper()
	if err := os.Symlink(target, b.path(name)); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) remove(name string) {
	b.Helper()
	if err := os.Remove(b.path(name)); err != nil {
		b.Fatal(err)
	}
}

// directories returns the paths of all directories.
func directories(t *testing.T, roots ...string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				out[path] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

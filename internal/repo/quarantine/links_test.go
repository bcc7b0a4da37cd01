package quarantine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A new link that leads to a folder where commands can write and nobody looks is moved
// aside; links of the user and links to other places stay.
func TestGuardMovesLinksToHiddenFoldersAside(t *testing.T) {
	for _, watching := range []bool{true, false} {
		dir, cache := real(t), real(t)
		files(t, dir, map[string]string{"a/b/": "", "file": ""})
		symlink := func(target, name string) {
			t.Helper()
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		symlink(cache, "users")
		g := New()
		t.Cleanup(func() { _ = g.Close() })
		if err := g.Enter(t.Context(), Area{Look: []string{dir}, Hidden: []string{cache}}); err != nil {
			t.Fatal(err)
		}
		if !watching {
			_ = g.watch.close()
			g.watch = nil
		}
		symlink(filepath.Join(cache, "docs"), "absolute")
		symlink(strings.Repeat("../", strings.Count(dir, "/"))+cache[1:]+"/x", "relative")
		symlink("a/b", "inside")
		symlink("/usr", "outside")
		symlink("/proc/self/cwd", "process")
		if err := os.Mkdir(filepath.Join(dir, "new"), 0o755); err != nil {
			t.Fatal(err)
		}
		symlink(cache, "new/deep")
		symlink("outside/.."+cache, "turns")
		symlink("later/.."+cache, "turns-later")
		long := strings.Repeat("l", 255)
		symlink(cache, long)
		moved := map[string]bool{}
		for _, f := range g.Check(t.Context()) {
			moved[strings.TrimPrefix(f.Path, dir+"/")] = f.Moved != ""
		}
		for _, name := range []string{"absolute", "relative", "process", "new/deep", "turns", long} {
			if !moved[name] {
				t.Errorf("watching %v: %s was not moved: %v", watching, name, moved)
			}
		}
		if len(moved) != 6 {
			t.Errorf("watching %v: %v", watching, moved)
		}
		symlink("/usr", "later")
		if found := g.Check(t.Context()); len(found) != 1 || found[0].Path != filepath.Join(dir, "turns-later") {
			t.Errorf("watching %v: %v", watching, found)
		}
	}
}

// A folder that looks read can be in a shared folder that they do not read: links inside of
// it stay, and a repository that appears above it is moved aside.
func TestGuardLooksInsideSharedFolders(t *testing.T) {
	shared := real(t)
	dir := filepath.Join(shared, "a/work")
	files(t, dir, map[string]string{"bin/x": ""})
	g := New()
	t.Cleanup(func() { _ = g.Close() })
	above := []string{filepath.Join(shared, "a/.git"), filepath.Join(shared, "a/HEAD")}
	if err := g.Enter(t.Context(), Area{Look: []string{dir}, Hidden: []string{shared}, Above: above}); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"inside": "bin/x", "outside": "../other"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	files(t, shared, repository("a/.git", evil))
	files(t, shared, repository("a", evil))
	moved := map[string]bool{}
	for _, f := range g.Check(t.Context()) {
		moved[strings.TrimPrefix(f.Path, shared+"/")] = f.Moved != ""
	}
	if len(moved) != 3 || !moved["a/work/outside"] || !moved["a/.git"] || !moved["a/HEAD"] {
		t.Errorf("moved %v", moved)
	}
}

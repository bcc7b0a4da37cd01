package executor

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/sandbox"
)

// tree returns the mode and the content or target of each entry below a folder, by path, without
// the entries that were moved aside.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		content := info.Mode().String()
		switch {
		case strings.Contains(rel, movedSuffix):
			if info.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case info.Mode().IsRegular():
			raw, _ := os.ReadFile(path)
			content += " " + string(raw)
		case info.Mode()&os.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			content += " " + target
		}
		files[filepath.ToSlash(rel)] = content
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Any change of protected files by a command is undone, and nothing outside is touched by that.
func TestGuard(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no sandboxes
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	for name, c := range map[string]struct {
		harm func(work, outside string)
		want string // is among the named paths
	}{
		"nothing":      {func(string, string) {}, ""},
		"write":        {func(w, _ string) { check(os.WriteFile(w+"/.git/hooks/pre-commit", []byte("evil"), 0o700)) }, ".git/hooks/pre-commit"},
		"mode":         {func(w, _ string) { check(os.Chmod(w+"/.git/config", 0o777)) }, ".git/config"},
		"remove":       {func(w, _ string) { check(os.Remove(w + "/.envrc")) }, ".envrc"},
		"a new hook":   {func(w, _ string) { check(os.WriteFile(w+"/.git/hooks/post-merge", []byte("evil"), 0o700)) }, ".git/hooks/post-merge"},
		"a new folder": {func(w, _ string) { check(os.MkdirAll(w+"/.git/hooks/a/b", 0o700)) }, ".git/hooks/a"},
		"remove all":   {func(w, _ string) { check(os.RemoveAll(w + "/.git/hooks")) }, ".git/hooks/pre-commit"},
		"rename above": {func(w, _ string) { check(os.Rename(w+"/.git", w+"/git.settle-changed")) }, ".git/config"},
		"a file instead": {func(w, _ string) {
			check(os.RemoveAll(w + "/.git/hooks"))
			check(os.WriteFile(w+"/.git/hooks", nil, 0o600))
		}, ".git/hooks"},
		"a link instead": {func(w, o string) {
			check(os.Remove(w + "/.git/config"))
			check(os.Symlink(o+"/config", w+"/.git/config"))
		}, ".git/config"},
		"a link above": {func(w, o string) {
			check(os.Rename(w+"/.git", w+"/git.settle-changed"))
			check(os.Symlink(o, w+"/.git"))
		}, ".git/config"},
		"a link at hooks": {func(w, o string) { check(os.RemoveAll(w + "/.git/hooks")); check(os.Symlink(o, w+"/.git/hooks")) }, ".git/hooks"},
	} {
		top := t.TempDir()
		work, outside := filepath.Join(top, "work"), filepath.Join(top, "outside")
		for path, content := range map[string]string{"work/.git/hooks/pre-commit": "good", "work/.git/config": "good", "work/.git/HEAD": "ref", "work/.envrc": "good", "outside/config": "theirs", "outside/pre-commit": "theirs"} {
			path = filepath.Join(top, filepath.FromSlash(path))
			check(os.MkdirAll(filepath.Dir(path), 0o755))
			check(os.WriteFile(path, []byte(content), 0o644))
		}
		protect := []string{work + "/.envrc", work + "/.git/config", work + "/.git/hooks"}
		before, beyond := tree(t, work), tree(t, outside)
		g := newGuard(sandbox.Policy{Write: []string{work}, Protect: protect})
		c.harm(work, outside)
		back, _ := g.restore()
		named := strings.Join(back, "\n")
		if (c.want == "") != (named == "") || !strings.Contains(named, c.want) {
			t.Errorf("%s: named %q, want %q", name, named, c.want)
		}
		after := tree(t, work)
		delete(before, ".git/HEAD") // is not protected
		delete(after, ".git/HEAD")
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		if diff := cmp.Diff(beyond, tree(t, outside)); diff != "" {
			t.Errorf("%s: outside (-want +got)\n%s", name, diff)
		}
		if again, _ := g.restore(); again != nil {
			t.Errorf("%s: named again: %q", name, again)
		}
	}
	if newGuard(sandbox.Policy{Write: []string{"/"}, Protect: []string{"/x"}, View: true}) != nil ||
		newGuard(sandbox.Policy{}) != nil {
		t.Error("it guards what the kernel does")
	}
}

// A save by a rename takes the mount off a protected file: later changes by the command are undone.
// A file that still has its mount is left alone.
func TestGuardRestoresFilesWhoseMountIsGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no sandboxes
	}
	work := t.TempDir()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".bashrc", ".mcp.json", ".envrc"} {
		check(os.WriteFile(filepath.Join(work, name), []byte("good"), 0o600))
	}
	check(os.MkdirAll(filepath.Join(work, ".git"), 0o700))
	path := func(name string) string { return filepath.Join(work, name) }
	g := newGuard(
		sandbox.Policy{
			Write:   []string{work},
			Protect: []string{path(".bashrc"), path(".envrc"), path(".git"), path(".mcp.json")},
			View:    true,
		},
	)
	check(os.WriteFile(path(".bashrc.tmp"), []byte("evil"), 0o600))
	check(os.Rename(path(".bashrc.tmp"), path(".bashrc")))
	check(os.Remove(path(".envrc")))
	check(os.WriteFile(path(".envrc"), []byte("evil"), 0o600))
	check(os.WriteFile(path(".mcp.json"), []byte("the user's"), 0o600))
	g.end()
	if got, _ := g.restore(); !slices.Equal(got, []string{path(".bashrc"), path(".envrc")}) {
		t.Errorf("restored: %v", got)
	}
	for name, want := range map[string]string{".bashrc": "good", ".envrc": "good", ".mcp.json": "the user's", ".bashrc" + movedSuffix: "evil"} {
		if got, err := os.ReadFile(path(name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if again, _ := g.restore(); again != nil {
		t.Errorf("named again: %v", again)
	}
}

// A second change of a protected file keeps the copy of the first.
func TestGuardKeepsEachChangedFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".envrc")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("zero")
	g := newGuard(sandbox.Policy{Write: []string{dir}, Protect: []string{file}})
	for _, text := range []string{"one", "two"} {
		write(text)
		_, _ = g.restore()
	}
	for name, want := range map[string]string{"": "zero", ".settle-changed": "one", ".2.settle-changed": "two"} {
		if got, err := os.ReadFile(file + name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A file that was saved under a long name, or in a folder without permissions, is kept as well.
func TestGuardNeverDeletesWhatItCannotRename(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no sandboxes
	}
	dir := t.TempDir()
	long, below := strings.Repeat("n", 250), "folder/config"
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(name, text string) { check(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
	check(os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	put(long, "original")
	put(below, "original")
	protect := []string{filepath.Join(dir, long), filepath.Join(dir, "folder")}
	g := newGuard(sandbox.Policy{Write: []string{dir}, Protect: protect})
	put(long, "saved")
	put(below, "saved")
	check(os.Chmod(filepath.Join(dir, "folder"), 0o500))
	if _, left := g.restore(); left != nil {
		t.Errorf("not put back: %v", left)
	}
	kept := 0
	check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, _ := os.ReadFile(path)
			if strings.HasSuffix(path, movedSuffix) && string(text) == "saved" {
				kept++
			} else if string(text) != "original" {
				t.Errorf("%s has %q", path, text)
			}
		}
		return err
	}))
	if kept != 2 {
		t.Errorf("%d of 2 saves were kept", kept)
	}
}

// A large file that was saved by a rename and then changed is restored from its original. A larger one is
// moved aside, named once, and guarded further.
func TestGuardMovesChangedLargeFilesAside(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no sandboxes
	}
	for _, tt := range []struct {
		size   int64
		isKept bool
	}{{2 << 20, true}, {maxGuardedBytes, true}, {maxGuardedBytes + 1, false}} {
		dir := t.TempDir()
		file := filepath.Join(dir, "fmt")
		put := func(path, text string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, tt.size); err != nil {
				t.Fatal(err)
			}
		}
		put(file, "good")
		g := newGuard(sandbox.Policy{Write: []string{dir}, Protect: []string{file}, View: true})
		for _, text := range []string{"evil", "wicked"} {
			put(filepath.Join(dir, "new"), text)
			if err := os.Rename(filepath.Join(dir, "new"), file); err != nil {
				t.Fatal(err)
			}
			back, left := g.restore()
			if (len(back) == 1) != tt.isKept || (len(left) == 1) == tt.isKept {
				t.Errorf("%d bytes: back %q, left %q", tt.size, back, left)
			}
			if back, left := g.restore(); back != nil || left != nil {
				t.Errorf("%d bytes: again: back %q, left %q", tt.size, back, left)
			}
		}
		g.end()
		for name, want := range map[string]string{"": "good", movedSuffix: "evil", ".2" + movedSuffix: "wicked"} {
			got, err := os.ReadFile(file + name)
			if want == "good" && !tt.isKept {
				if err == nil {
					t.Errorf("%d bytes: the changed file stayed", tt.size)
				}
			} else if err != nil || int64(len(got)) != tt.size || !strings.HasPrefix(string(got), want) {
				t.Errorf("%d bytes: %q: %d bytes, %v", tt.size, name, len(got), err)
			}
		}
	}
}

package disk_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
)

// decide makes the decision about a path in dir.
func decide(t *testing.T, dir, path string) []event.ResolvedPath {
	t.Helper()
	named, err := disk.Absolute(dir, path)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := disk.Decide(named) // later calls return the error of a path without a target
	return []event.ResolvedPath{p}
}

func read(p disk.Place) (string, error) {
	f, _, err := p.Open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data), err
}

func wantChanged(t *testing.T, what string, err error) {
	t.Helper()
	if changed := (*disk.ChangedError)(nil); !errors.As(err, &changed) {
		t.Errorf("%s: got %v, want a ChangedError", what, err)
	}
}

// A link that leads to the same place as when it was decided is followed; any other
// is not.
func TestLocateHoldsToTheDecision(t *testing.T) {
	dir := newDir(t)
	link(t, "d", filepath.Join(dir, "docs"))
	judged := decide(t, dir, "docs/f")
	p, err := disk.Locate(dir, "docs/f", judged)
	if err != nil || p.Real != filepath.Join(dir, "d", "f") || p.Shown != "docs/f" {
		t.Fatalf("got %+v, %v", p, err)
	}
	if got, err := read(p); err != nil || got != "d/f" {
		t.Errorf("read %q, %v", got, err)
	}
	if err := os.Remove(filepath.Join(dir, "docs")); err != nil {
		t.Fatal(err)
	}
	link(t, ".", filepath.Join(dir, "docs"))
	_, err = disk.Locate(dir, "docs/f", judged)
	wantChanged(t, "the link leads elsewhere", err)
	_, err = disk.Locate(dir, "f", judged)
	wantChanged(t, "another path", err)
	_, err = disk.Locate(dir, "f", []event.ResolvedPath{})
	wantChanged(t, "no path", err)
	if p, err := disk.Locate(dir, "docs/f", nil); err != nil || p.Real != filepath.Join(dir, "f") {
		t.Errorf("without a decision: %+v, %v", p, err)
	}
	link(t, "loop", filepath.Join(dir, "loop"))
	judged = decide(t, dir, "loop")
	if err := os.Rename(filepath.Join(dir, "f"), filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	_, err = disk.Locate(dir, "loop", judged)
	wantChanged(t, "what led nowhere", err)
}

// A located file is opened without links, even if another file takes the place of a component.
func TestOpenFollowsNoLink(t *testing.T) {
	for _, swapped := range []string{"f", "d"} {
		dir, path := newDir(t), map[string]string{"f": "f", "d": "d/f"}[swapped]
		p, err := disk.Locate(dir, path, decide(t, dir, path))
		if err != nil {
			t.Fatal(err)
		}
		outside := newDir(t)
		if err := os.RemoveAll(filepath.Join(dir, swapped)); err != nil {
			t.Fatal(err)
		}
		link(t, filepath.Join(outside, swapped), filepath.Join(dir, swapped))
		_, err = read(p)
		wantChanged(t, "read through "+swapped, err)
		if d, _, err := p.MakeDir(); swapped == "d" {
			wantChanged(t, "create in "+swapped, err)
		} else if err == nil {
			d.Close()
		}
	}
}

func TestDirHoldsTheDirectory(t *testing.T) {
	dir := newDir(t)
	d, err := disk.OpenDir(filepath.Join(dir, "d"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	outside := newDir(t)
	if err := os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	link(t, filepath.Join(outside, "d"), filepath.Join(dir, "d"))
	f, err := d.Create("new", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := errors.Join(d.Mkdir("sub"), d.Rename("new", "sub2"), d.Remove("f"), d.Sync()); err != nil {
		t.Fatal(err)
	}
	names := func(dir string) (list []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	if got := names(filepath.Join(dir, "moved")); len(got) != 2 || got[0] != "sub" || got[1] != "sub2" {
		t.Errorf("in the directory: %q", got)
	}
	if got := names(filepath.Join(outside, "d")); len(got) != 1 {
		t.Errorf("outside: %q", got)
	}
	for _, name := range []string{"", ".", "..", "a/b", "../x", "/x"} {
		if _, err := d.Create(name, 0o600); err == nil {
			t.Errorf("created %q", name)
		}
		if _, err := d.Sub(name); err == nil {
			t.Errorf("opened %q", name)
		}
	}
	if _, err := d.Create("sub2", 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created what exists: %v", err)
	}
}

func TestMakeDirMakesWhatIsMissing(t *testing.T) {
	dir := newDir(t)
	p, err := disk.Locate(dir, "d/x/y/new", decide(t, dir, "d/x/y/new"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Dir(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before: %v", err)
	}
	missing := p.MissingDirs()
	d, made, err := p.MakeDir()
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	real, _ := filepath.EvalSymlinks(dir)
	if want := []string{filepath.Join(real, "d/x"), filepath.Join(real, "d/x/y")}; !slices.Equal(made, want) ||
		!slices.Equal(missing, want) || p.MissingDirs() != nil {
		t.Errorf("missing %q, made %q, want %q", missing, made, want)
	}
	if info, err := os.Stat(filepath.Join(dir, "d/x/y")); err != nil || !info.IsDir() {
		t.Errorf("after: %v, %v", info, err)
	}
	below, err := disk.Locate(dir, "f/x/new", decide(t, dir, "f/x/new"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := below.MakeDir(); err == nil {
		t.Error("made a directory below a file")
	}
}

func TestOpenOnlyRegularFiles(t *testing.T) {
	dir := newDir(t)
	for path, want := range map[string]error{"d": disk.ErrDirectory, "none": fs.ErrNotExist, "none/f": fs.ErrNotExist} {
		p, err := disk.Locate(dir, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read(p); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", path, err, want)
		}
	}
	root, err := disk.Locate(dir, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(root); !errors.Is(err, disk.ErrDirectory) {
		t.Errorf("the root: %v", err)
	}
	tree, err := root.Tree()
	if err != nil {
		t.Fatal(err)
	}
	tree.Close()
}

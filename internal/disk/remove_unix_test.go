//go:build unix

package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// deepFolder makes folders in each other, deeper than paths and open files allow.
func deepFolder(t *testing.T, path string, levels int) {
	t.Helper()
	at, err := os.OpenRoot(path)
	for range levels {
		if err != nil {
			t.Fatal(err)
		}
		err = at.Mkdir(strings.Repeat("x", 200), 0o700)
		below, opened := at.OpenRoot(strings.Repeat("x", 200))
		err = errors.Join(err, opened, at.Close())
		at = below
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := at.Close(); err != nil {
		t.Fatal(err)
	}
}

// A directory that a command made is removed at any depth, also without permissions, but never the
// target of a link in it.
func TestScratchRemovesTreesThatResist(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = 100
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) }() // it was the limit before
	base := t.TempDir()
	t.Setenv("TMPDIR", base)
	d, err := NewScratch("box")
	if err != nil {
		t.Fatal(err)
	}
	keep := filepath.Join(base, "keep")
	for _, path := range []string{
		keep, filepath.Join(d.Path, "tmp", "a", "b", "c"), filepath.Join(d.Path, "settle-removed-1", "d"),
	} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "file"), nil, 0o400); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(keep, filepath.Join(path, "link")); err != nil {
			t.Fatal(err)
		}
	}
	deepFolder(t, filepath.Join(d.Path, "tmp"), 300)
	for _, path := range []string{"tmp/a/b/c", "tmp/a/b", "tmp/a", "tmp"} {
		if err := os.Chmod(filepath.Join(d.Path, path), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(removeTree(d.Path, time.Now().Add(time.Minute)), d.Remove()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(d.Path); err == nil {
		t.Error("it was not removed")
	}
	if _, err := os.Lstat(filepath.Join(keep, "file")); err != nil {
		t.Error(err)
	}
}

// A removal that takes too long is cut with an error that says so, and can be continued.
func TestRemovalIsBoundedInTime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tree")
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := removeTree(dir, time.Now().Add(-time.Second))
	if !errors.Is(err, errSlow) || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
	if err := removeTree(dir, time.Now().Add(time.Minute)); err != nil {
		t.Error(err)
	}
}

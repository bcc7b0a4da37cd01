package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle/internal/disk"
)

// Without openat2, directories are opened name by name, with the same result.
func TestWalkDir(t *testing.T) {
	dir := newDir(t)
	link(t, "d", filepath.Join(dir, "linked"))
	d, err := disk.WalkDir(filepath.Join(dir, "d"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	have, err := d.Lstat("f")
	if err != nil {
		t.Fatal(err)
	}
	if want, err := os.Lstat(filepath.Join(dir, "d", "f")); err != nil || !os.SameFile(have, want) {
		t.Errorf("opened another directory: %v, %v", have, err)
	}
	for _, open := range []func(string) (*disk.Dir, error){disk.WalkDir, disk.OpenDir} {
		_, err = open(filepath.Join(dir, "linked"))
		wantChanged(t, "a link", err)
		if _, err = open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("none: %v", err)
		}
		if _, err = open(filepath.Join(dir, "f")); err == nil {
			t.Error("opened a file as a directory")
		}
	}
	root, err := disk.WalkDir("/")
	if err != nil {
		t.Fatal(err)
	}
	root.Close()
}

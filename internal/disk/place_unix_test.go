//go:build unix

package disk_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/internal/disk"
)

func TestOpenRefusesWhatCouldBlock(t *testing.T) {
	dir := newDir(t)
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, kind := range map[string]string{fifo: "a FIFO", "/dev/zero": "a device"} {
		p, err := disk.Locate(dir, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read(p); err == nil || !strings.Contains(err.Error(), "is "+kind+", not a regular file") {
			t.Errorf("%s: got %v", path, err)
		}
	}
	if _, err := disk.OpenDir(fifo); err == nil {
		t.Error("opened a FIFO as a directory")
	}
	d, err := disk.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Sub("fifo"); err == nil {
		t.Error("opened a FIFO as a directory in one")
	}
}

// A hard link to a file that not everybody may read is read only if the decision was
// about one.
func TestHardLinks(t *testing.T) {
	dir, outside := newDir(t), newDir(t)
	judged := decide(t, dir, "f")
	if err := os.Remove(filepath.Join(dir, "f")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(outside, "f"), filepath.Join(dir, "f")); err != nil {
		t.Fatal(err)
	}
	p, err := disk.Locate(dir, "f", judged)
	if err != nil {
		t.Fatal(err)
	}
	_, err = read(p)
	wantChanged(t, "a hard link that nobody decided about", err)
	if p, err = disk.Locate(dir, "f", decide(t, dir, "f")); err != nil {
		t.Fatal(err)
	}
	if got, err := read(p); err != nil || got != "f" {
		t.Errorf("one that was decided about: %q, %v", got, err)
	}
	if err := os.Chmod(filepath.Join(dir, "f"), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err = disk.Locate(dir, "f", judged); err != nil {
		t.Fatal(err)
	}
	if got, err := read(p); err != nil || got != "f" {
		t.Errorf("one that everybody may read: %q, %v", got, err)
	}
}

//go:build unix

package disk_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/settle-agent/settle/internal/disk"
)

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// C23: locked directories, and directories that only look like settle's, stay.
func TestSweep(t *testing.T) {
	base := t.TempDir()
	t.Setenv("TMPDIR", base)
	held, err := disk.NewScratch("box")
	if err != nil {
		t.Fatal(err)
	}
	gone := strings.TrimSuffix(held.Path, filepath.Base(held.Path)[len(filepath.Base(held.Path))-1:]) + "x-gone"
	name := filepath.Base(held.Path)
	boot := strings.Split(name, "-")[2]
	elsewhere := filepath.Join(base, strings.Replace(name, boot, "00000000", 1))
	file, link, other := held.Path+"-file", held.Path+"-link", filepath.Join(base, "settle-box-1")
	for _, dir := range []string{filepath.Join(gone, "tmp", "deep"), elsewhere, other} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	if n := disk.SweepScratch(); n != 1 || exists(gone) {
		t.Errorf("%d removed; the one whose process is gone is there: %v", n, exists(gone))
	}
	for _, path := range []string{held.Path, elsewhere, file, link, other} {
		if !exists(path) {
			t.Errorf("%s was removed", path)
		}
	}
	if err := held.Remove(); err != nil || exists(held.Path) {
		t.Errorf("%v", err)
	}
}

// Another process cannot sweep a directory that this process has locked; after the unlock it can.
func TestSweepOfAnotherProcess(t *testing.T) {
	const variable = "SCRATCH_TEST"
	if os.Getenv(variable) != "" {
		t.Logf("removed %d", disk.SweepScratch())
		return
	}
	t.Setenv("TMPDIR", t.TempDir())
	d, err := disk.NewScratch("box")
	if err != nil {
		t.Fatal(err)
	}
	other := func() string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSweepOfAnotherProcess$", "-test.v")
		cmd.Env = append(os.Environ(), variable+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := other(); !strings.Contains(out, "removed 0") || !exists(d.Path) {
		t.Errorf("while it is locked: %s", out)
	}
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(d.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if out := other(); !strings.Contains(out, "removed 1") || exists(d.Path) {
		t.Errorf("afterwards: %s", out)
	}
}

// Nobody gets a directory that a sweep removes.
func TestNewAgainstSweeps(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { // ends by itself
			for range 50 {
				d, err := disk.NewScratch("race")
				if err != nil {
					t.Error(err)
					return
				}
				disk.SweepScratch()
				if !exists(d.Path) {
					t.Error("it was swept away")
				}
				if err := d.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

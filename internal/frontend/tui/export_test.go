package tui

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// An export never replaces a file. Without a name, and in a directory, it finds a free name.
func TestExportNames(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	if err := os.Mkdir(filepath.Join(dir, "src"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, want string }{
		{"", filepath.Join(dir, "settle-s.txt")},
		{"", filepath.Join(dir, "settle-s-2.txt")},
		{"", filepath.Join(dir, "settle-s-3.txt")},
		{"a.txt", filepath.Join(dir, "a.txt")},
		{"a.txt", ""},
		{"src", filepath.Join(dir, "src", "settle-s.txt")},
		{"src/", filepath.Join(dir, "src", "settle-s-2.txt")},
		{"~/b.txt", filepath.Join(home, "b.txt")},
		{"~/b.txt", ""},
		{"~", filepath.Join(home, "settle-s.txt")},
		{"~x", filepath.Join(dir, "~x")},
	} {
		file, err := createExport(c.name, dir, "settle-s")
		if c.want == "" {
			if !errors.Is(err, fs.ErrExist) {
				t.Errorf("%q: %v, want that the file exists", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.name, err)
			continue
		}
		if file.Name() != c.want {
			t.Errorf("%q: %s, want %s", c.name, file.Name(), c.want)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}

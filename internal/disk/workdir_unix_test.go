//go:build unix

package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A working directory that is renamed, removed or exchanged for a link or a folder is an error;
// a place that was found before stays in the directory of the session's beginning.
func TestWorkDirIsTheOneOfTheBeginning(t *testing.T) {
	for name, exchange := range map[string]func(dir, other string) error{
		"link":    func(dir, other string) error { return os.Symlink(other, dir) },
		"folder":  func(dir, other string) error { return os.Rename(other, dir) },
		"renamed": func(string, string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			dir, other := filepath.Join(top, "dir"), filepath.Join(top, "private")
			for path, text := range map[string]string{dir: "mine", other: "secret"} {
				if err := errors.Join(
					os.MkdirAll(filepath.Join(path, "sub"), 0o700),
					os.WriteFile(filepath.Join(path, "sub", "note"), []byte(text), 0o600),
				); err != nil {
					t.Fatal(err)
				}
			}
			held, err := HoldWorkDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			before, err := held.Locate(dir, "sub/note", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Rename(dir, dir+"-old"), exchange(dir, other)); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{"sub/note", ".", "new"} {
				if p, err := held.Locate(dir, path, nil); !errors.As(err, new(*WorkDirError)) {
					t.Errorf("%q is at %q, %v", path, p.Real, err)
				}
			}
			f, _, err := before.Open()
			if err != nil {
				t.Fatal(err)
			}
			text := make([]byte, 10)
			n, _ := f.Read(text)
			if err := f.Close(); err != nil || string(text[:n]) != "mine" {
				t.Errorf("the place that was found before has %q, %v", text[:n], err)
			}
			if _, err := held.Locate(other, "x", nil); err != nil {
				t.Errorf("another directory: %v", err)
			}
			if err := errors.Join(os.RemoveAll(dir), os.Rename(dir+"-old", dir)); err != nil {
				t.Fatal(err)
			}
			if _, err := held.Locate(dir, "sub/note", nil); err != nil {
				t.Errorf("after it is put back: %v", err)
			}
		})
	}
}

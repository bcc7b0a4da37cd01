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

// Sessions in one directory share its descriptor until the last of them ends; a directory that
// took its name is another one.
func TestWorkDirIsShared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	hold := func() *WorkDir {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		w, err := HoldWorkDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Close)
		return w
	}
	opens := func(w *WorkDir) error {
		d, err := w.Open()
		if err == nil {
			d.Close()
		}
		return err
	}
	first, second := hold(), hold()
	if first.held != second.held {
		t.Error("two sessions in one directory have a descriptor each")
	}
	if err := os.Rename(dir, dir+"-old"); err != nil {
		t.Fatal(err)
	}
	third := hold()
	if third.held == first.held {
		t.Error("a session has the directory that had the name before")
	}
	first.Close()
	first.Close() // counts once
	if err := opens(second); err != nil {
		t.Errorf("the directory was closed with its first user: %v", err)
	}
	second.Close()
	if err := opens(second); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after its last user, the directory is open: %v", err)
	}
	if err := errors.Join(opens(third), third.Check(dir)); err != nil {
		t.Errorf("the new directory: %v", err)
	}
}

// A log cannot hold a name that is not UTF-8, and the text that it holds instead can name another
// directory.
func TestCheckWorkDirNameRefusesOtherBytes(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"a\xffb", "a\ufffdb", "grün"} {
		if err := os.Mkdir(filepath.Join(top, name), 0o700); err != nil {
			return // this file system has only names in UTF-8
		}
	}
	link := filepath.Join(top, "link")
	if err := os.Symlink("a\xffb", link); err != nil {
		t.Fatal(err)
	}
	for name, isRefused := range map[string]bool{
		"a\xffb": true, "a\ufffdb": true, "link": true, "a\xffb/missing": true, "grün": false, "missing": false,
	} {
		if err := CheckWorkDirName(filepath.Join(top, name)); (err != nil) != isRefused {
			t.Errorf("%q: %v", name, err)
		}
	}
}

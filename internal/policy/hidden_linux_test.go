package policy

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// A search while a job renames folders finds their secrets, or fails.
func TestSecretsOfMovingFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	if err := os.Mkdir(one, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(one, ".env"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // ends with stop; the test waits for stopped
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.Rename(one, two)
				_ = os.Rename(two, one)
			}
		}
	}()
	var files SecretFiles
	failed, missed := 0, 0
	for range 500 {
		found, err := files.Below(nil, dir)
		if err != nil {
			failed++
		} else if len(found) == 0 {
			missed++
		}
	}
	close(stop)
	<-stopped
	t.Logf("%d of 500 searches failed", failed)
	if missed > 0 {
		t.Errorf("%d of 500 searches found nothing", missed)
	}
	if found, err := files.Below(nil, dir); err != nil || !slices.Equal(found, []string{filepath.Join(one, ".env")}) {
		t.Errorf("found %v, %v", found, err)
	}
}

// A folder that cannot be listed or entered is hidden as a whole: its owner can change
// its mode in a command.
func TestUnlistableFoldersAreSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o000, 0o311, 0o444} {
		sub := filepath.Join(dir, "sub")
		if err := os.MkdirAll(filepath.Join(sub, "deep"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(sub, mode); err != nil {
			t.Fatal(err)
		}
		var found []string
		var err error
		done := make(chan struct{})
		go func() { // the test waits for it; its thread ends with it
			defer close(done)
			if os.Geteuid() == 0 {
				runtime.LockOSThread()
				for _, path := range []string{dir, sub} {
					if err := os.Chown(path, 65534, 65534); err != nil {
						t.Error(err)
					}
				}
				_ = unix.Setfsuid(65534)
			}
			found, err = new(SecretFiles).Below(nil, dir)
		}()
		<-done
		if err != nil || !slices.Equal(found, []string{sub}) {
			t.Errorf("%o: found %v, %v", mode, found, err)
		}
		if err := os.Chmod(sub, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// A new file with the inode number of a removed secret file is no secret.
func TestFoundFilesAreKnownByTheirBirth(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var files SecretFiles
	for range 20 {
		secret := write(".env")
		if found, err := files.Below(nil, dir); err != nil || !slices.Equal(found, []string{secret}) {
			t.Fatalf("found %v, %v", found, err)
		}
		if err := os.Rename(secret, filepath.Join(dir, "other")); err != nil {
			t.Fatal(err)
		}
		if !files.Secret(filepath.Join(dir, "other")) {
			t.Fatal("a renamed file is not known")
		}
		if err := os.Remove(filepath.Join(dir, "other")); err != nil {
			t.Fatal(err)
		}
		if files.Secret(write("new")) {
			t.Fatal("a new file is taken for a removed one")
		}
		if err := os.Remove(filepath.Join(dir, "new")); err != nil {
			t.Fatal(err)
		}
	}
}

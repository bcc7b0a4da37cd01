package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/disk"
)

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpenRegularReturnsFileAndInfo(t *testing.T) {
	f, info, err := disk.OpenRegular(write(t, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info.Size() != 5 {
		t.Errorf("size %d, want 5", info.Size())
	}
	if _, _, err := disk.OpenRegular(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestReadRegularIsBounded(t *testing.T) {
	path := write(t, "0123456789")
	if data, err := disk.ReadRegular(path, 10); err != nil || string(data) != "0123456789" {
		t.Errorf("at the limit: %q, %v", data, err)
	}
	_, err := disk.ReadRegular(path, 9)
	if tooLarge := (*disk.TooLargeError)(nil); !errors.As(err, &tooLarge) ||
		!strings.Contains(err.Error(), "larger than 9 bytes") {
		t.Errorf("over the limit: %v", err)
	}
}

func wantNotRegular(t *testing.T, path, kind string) {
	t.Helper()
	for name, read := range map[string]func() error{
		"OpenRegular": func() error {
			f, _, err := disk.OpenRegular(path)
			if err == nil {
				f.Close()
			}
			return err
		},
		"ReadRegular": func() error { _, err := disk.ReadRegular(path, 1<<10); return err },
	} {
		err := read()
		if special := (*disk.NotRegularError)(nil); !errors.As(err, &special) {
			t.Errorf("%s(%q) = %v, want a NotRegularError", name, path, err)
		} else if want := "is " + kind + ", not a regular file"; !strings.Contains(err.Error(), want) {
			t.Errorf("%s(%q) = %v, want %q in it", name, path, err, want)
		}
	}
}

func TestRegularRefusesDirectory(t *testing.T) { wantNotRegular(t, t.TempDir(), "a directory") }

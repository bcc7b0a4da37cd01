package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/tool/internal/disk"
)

func TestResolve(t *testing.T) {
	for _, tt := range []struct{ path, want, err string }{
		{path: "a/../b/./c", want: "/work/b/c"},
		{path: "/x//y/", want: "/x/y"},
		{path: "~x", want: "/work/~x"},
		{path: " a ", want: "/work/ a "},
		{path: "", err: `the path is empty; give one relative to "/work" or an absolute one`},
		{path: "a\x00b", err: `the path "a\x00b" contains a NUL byte; no file name can`},
		{path: "~", err: `"~" is not expanded in "~"; give an absolute path or one relative to "/work"`},
		{path: "~/x", err: `"~" is not expanded in "~/x"; give an absolute path or one relative to "/work"`},
	} {
		got, err := disk.Resolve("/work", tt.path)
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%q: got %v, want %s", tt.path, err, tt.err)
			}
			continue
		}
		if err != nil || filepath.ToSlash(got) != tt.want {
			t.Errorf("%q: got %q, %v; want %q", tt.path, got, err, tt.want)
		}
	}
	if _, err := disk.Resolve("work", "x"); err == nil {
		t.Error("resolved against a relative directory")
	}
}

func TestDisplay(t *testing.T) {
	for _, tt := range []struct{ path, want string }{
		{"/work/a/b", "a/b"},
		{"/work", "."},
		{"/other/b", "/other/b"},
		{"/work/..b", "..b"},
	} {
		if got := disk.Display("/work", tt.path); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.path, got, tt.want)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, info, err := disk.Open(path)
	if err != nil || info.Size() != 5 {
		t.Fatalf("got %v, %v", info, err)
	}
	f.Close()
	if _, _, err := disk.Open(dir); !errors.Is(err, disk.ErrDirectory) {
		t.Errorf("directory: %v", err)
	}
	if _, _, err := disk.Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func wantRefused(t *testing.T, path, kind string) {
	t.Helper()
	f, _, err := disk.Open(path)
	if err == nil {
		f.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "is "+kind+", not a regular file") {
		t.Errorf("%s: got %v", path, err)
	}
}

package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle/internal/disk"
)

func TestAbsolute(t *testing.T) {
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
		got, err := disk.Absolute("/work", tt.path)
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
	if _, err := disk.Absolute("work", "x"); err == nil {
		t.Error("resolved against a relative directory")
	}
}

func TestExpandHome(t *testing.T) {
	for _, tt := range []struct{ path, home, want string }{
		{"~", "/home/p", "/home/p"},
		{"~/x/../y", "/home/p", "/home/p/y"},
		{"~p/x", "/home/p", "~p/x"},
		{"x/~/y", "/home/p", "x/~/y"},
		{"~/x", "", "~/x"},
	} {
		if got := filepath.ToSlash(disk.ExpandHome(tt.path, tt.home)); got != tt.want {
			t.Errorf("%q with the home %q: got %q, want %q", tt.path, tt.home, got, tt.want)
		}
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

// The kernel's own resolution is the oracle.
func TestResolveAsTheKernelDoes(t *testing.T) {
	dir := newDir(t)
	link(t, "../d", filepath.Join(dir, "d", "self"))
	link(t, "d/self/self", filepath.Join(dir, "far"))
	link(t, dir, filepath.Join(dir, "d", "up"))
	for _, path := range []string{"f", "d/self/f", "far/f", "far/up/far/f", "d/self/../f", "far/../f"} {
		want, err := filepath.EvalSymlinks(filepath.Join(dir, "d") + "/../" + path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := disk.Resolve(dir + "/" + path); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", path, got, err, want)
		}
	}
	link(t, "loop", filepath.Join(dir, "loop"))
	if _, err := disk.Resolve(filepath.Join(dir, "loop", "x")); err == nil {
		t.Error("resolved a loop")
	}
	if got, err := disk.Resolve(filepath.Join(dir, "far", "none", "x")); err != nil ||
		got != filepath.Join(dir, "d", "none", "x") {
		t.Errorf("what does not exist: %q, %v", got, err)
	}
}

// newDir returns a directory without links in its path, which has f and d/f.
func newDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"f", "d/f"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

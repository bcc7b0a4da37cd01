package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A path in the directory that leads out of it does not belong to the editor, because the
// editor would follow the link. A link within the directory does, by its target's path.
func TestEditorIsNotAskedAboutLinksThatLeadOutside(t *testing.T) {
	f := newFixture(t)
	b := &buffers{texts: map[string]string{}}
	f.w.editor = b.editor()
	outside := t.TempDir()
	for path, to := range map[string]string{"out": outside, "out.txt": filepath.Join(outside, "a.txt"), "in": "real"} {
		if err := os.Symlink(to, f.path(path)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "a.txt"), []byte("saved\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.put("real/a.txt", "saved\n")
	for _, path := range []string{"out/a.txt", "out.txt", "out/new.txt", "in/a.txt"} {
		b.texts[f.path(path)] = "typed by name\n"
	}
	real, err := filepath.EvalSymlinks(f.path("real"))
	if err != nil {
		t.Fatal(err)
	}
	b.texts[filepath.Join(real, "a.txt")] = "typed\n"
	for _, path := range []string{"out/a.txt", "out.txt"} {
		if out := f.ok("read", args{"path": path}); !strings.Contains(out.Output, "saved") {
			t.Errorf("the editor was asked for %s: %s", path, out.Output)
		}
		f.ok("write", args{"path": path, "content": "saved\n"})
	}
	f.ok("write", args{"path": "out/new.txt", "content": "new\n"})
	if len(b.wrote) > 0 {
		t.Errorf("the editor wrote %v, which lead outside", b.wrote)
	}
	if out := f.ok("read", args{"path": "in/a.txt"}); !strings.Contains(out.Output, "typed\n") ||
		strings.Contains(out.Output, "by name") {
		t.Errorf("a link that stays inside: %s", out.Output)
	}
}

package file

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// buffers is an editor with open files.
type buffers struct {
	texts map[string]string // by path
	err   error
	wrote []string
}

func (b *buffers) editor() *Editor {
	return &Editor{
		Read: func(_ context.Context, path string) (string, error) {
			text, ok := b.texts[path]
			if !ok && b.err == nil {
				return "", fs.ErrNotExist
			}
			return text, b.err
		},
		Write: func(_ context.Context, path, text string) error {
			if b.err != nil {
				return b.err
			}
			b.wrote = append(b.wrote, filepath.Base(path))
			b.texts[path] = text
			return nil
		},
	}
}

func TestEditorHasTheText(t *testing.T) {
	f := newFixture(t)
	b := &buffers{texts: map[string]string{}}
	f.w.editor = b.editor()
	outside := filepath.Join(t.TempDir(), "outside.txt")
	for _, name := range []string{"open.txt", "closed.txt", "patched.txt"} {
		f.put(name, "saved\n")
	}
	if err := os.WriteFile(outside, []byte("saved\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.put("binary", "a\x00b")
	b.texts[f.path("open.txt")] = "typed\n"
	b.texts[f.path("patched.txt")] = "typed\n"
	b.texts[outside] = "not asked\n"

	if out := f.ok("read", args{"path": "open.txt"}); !strings.Contains(out.Output, "typed") {
		t.Errorf("read the disk: %s", out.Output)
	}
	if out := f.ok("read", args{"path": "closed.txt"}); !strings.Contains(out.Output, "saved") {
		t.Errorf("read %s", out.Output)
	}
	if out := f.ok("read", args{"path": outside}); !strings.Contains(out.Output, "saved") {
		t.Errorf("asked for a file outside: %s", out.Output)
	}
	f.ok("read", args{"path": "binary"})
	f.ok("edit", args{"path": "open.txt", "old_string": "typed", "new_string": "edited"})
	f.ok("write", args{"path": "open.txt", "content": "written\n"})
	f.ok("write", args{"path": "new.txt", "content": "new\n"})
	f.ok("write", args{"path": "closed.txt", "content": "changed\n"})
	f.ok(
		"apply_patch",
		args{"input": "*** Begin Patch\n*** Update File: patched.txt\n@@\n-typed\n+patched\n*** End Patch"},
	)
	want := map[string]string{
		f.path("open.txt"): "written\n", f.path("new.txt"): "new\n", f.path("patched.txt"): "patched\n",
		outside: "not asked\n",
	}
	if diff := cmp.Diff(want, maps.Clone(b.texts)); diff != "" {
		t.Errorf("editor (-want +got):\n%s", diff)
	}
	f.want("open.txt", "saved\n") // the editor saves the file, not the tool
	f.want("closed.txt", "changed\n")
}

func TestEditorRefuses(t *testing.T) {
	f := newFixture(t)
	f.put("a.txt", "saved\n")
	b := &buffers{texts: map[string]string{}, err: errors.New("not allowed")}
	f.w.editor = b.editor()
	for name, in := range map[string]args{
		"read":  {"path": "a.txt"},
		"edit":  {"path": "a.txt", "old_string": "saved", "new_string": "x"},
		"write": {"path": "new.txt", "content": "x"},
	} {
		if out := f.fails(name, in); !strings.Contains(out, "not allowed") {
			t.Errorf("%s: %s", name, out)
		}
	}
	f.want("a.txt", "saved\n")
	f.wantNone("new.txt")
}

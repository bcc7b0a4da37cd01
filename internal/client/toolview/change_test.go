package toolview_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
)

// call makes the detail as the tool itself makes it.
func call(t *testing.T, dir, name string, arguments any) (toolview.Call, json.RawMessage) {
	t.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	detail, err := file.Preview(context.Background(), tool.Call{Name: name, Args: raw, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return toolview.New(name, string(raw), dir), detail
}

// The change of a new file has the content of the file, to the byte.
func TestContent(t *testing.T) {
	for _, text := range []string{
		"", "a", "a\n", "\n", "a\n\nb", "a\nb\n", "--- a\n+++ b\n@@ -1 +1 @@\n", "+a\n-b\n\\c\n",
		"\\ No newline at end of file\n", "ä\u2028b",
	} {
		dir := t.TempDir()
		c, detail := call(t, dir, "write", file.WriteArguments{Path: "new", Content: text})
		changes := c.Changes(detail)
		if len(changes) != 1 || changes[0].Kind != file.Create || changes[0].Path != filepath.Join(dir, "new") {
			t.Fatalf("%q: %+v", text, changes)
		}
		if got := changes[0].Content(); got != text {
			t.Errorf("a file with %q shows as %q", text, got)
		}
		if err := os.WriteFile(filepath.Join(dir, "old"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, detail = call(
			t, dir, "apply_patch",
			file.PatchArguments{Input: "*** Begin Patch\n*** Delete File: old\n*** End Patch"},
		)
		if got := c.Changes(detail)[0].Content(); got != text {
			t.Errorf("the deletion of a file with %q shows as %q", text, got)
		}
	}
}

func TestHunks(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, detail := call(
		t,
		dir,
		"apply_patch",
		file.PatchArguments{
			Input: "*** Begin Patch\n*** Update File: f\n@@\n-1\n+one\n@@\n-12\n+twelve\n*** End Patch",
		},
	)
	want := []toolview.Hunk{{"1\n2\n3\n4\n", "one\n2\n3\n4\n"}, {"9\n10\n11\n12", "9\n10\n11\ntwelve"}}
	if diff := cmp.Diff(want, c.Changes(detail)[0].Hunks()); diff != "" {
		t.Error(diff)
	}
	if got := (toolview.Change{}).Hunks(); got != nil {
		t.Errorf("a change without a diff has the hunks %q", got)
	}
}

// Without a detail, the arguments say which files change, and how.
func TestNamedChanges(t *testing.T) {
	c := toolview.New(
		"apply_patch",
		`{"input":"*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n*** Delete File: d\n*** Update File: e\n@@\n-x\n+y\n*** End Patch"}`,
		"/w",
	)
	want := []toolview.Change{
		{file.Change{Path: "/w/a", Kind: file.Create}},
		{file.Change{Path: "/w/c", From: "/w/b", Kind: file.Move}},
		{file.Change{Path: "/w/d", Kind: file.Delete}},
		{file.Change{Path: "/w/e", Kind: file.Update}},
	}
	for _, detail := range []string{"", "{", `{"files":[]}`} {
		if diff := cmp.Diff(want, c.Changes(json.RawMessage(detail))); diff != "" {
			t.Errorf("detail %q: %s", detail, diff)
		}
	}
	if got := toolview.New("read", `{"path":"a"}`, "/w").Changes(nil); got != nil {
		t.Errorf("a call of read changes %v", got)
	}
}

package file_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
)

// The preview of a call equals its later result.
func TestPreviewIsTheResult(t *testing.T) {
	for _, tt := range []struct {
		name string
		args map[string]any
	}{
		{"write", map[string]any{"path": "a", "content": "one\ntwo\nthree\n"}},
		{"write", map[string]any{"path": "new/b", "content": "x"}},
		{"edit", map[string]any{"path": "a", "old_string": "two", "new_string": "2"}},
		{"edit", map[string]any{"path": "a", "old_string": "one\ntwo\n", "new_string": ""}},
		{"apply_patch", map[string]any{"input": "*** Begin Patch\n*** Update File: a\n*** Move to: c\n one\n-two\n+2\n*** Add File: d\n+d\n*** Delete File: e\n*** End Patch"}},
	} {
		dir := t.TempDir()
		for name, content := range map[string]string{"a": "one\ntwo\n", "e": "e\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		raw, err := json.Marshal(tt.args)
		if err != nil {
			t.Fatal(err)
		}
		call := tool.Call{Name: tt.name, Args: raw, Dir: dir}
		before, err := file.Preview(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(dir); len(entries) != 2 || err != nil {
			t.Errorf("%s %s: a preview left %v, %v", tt.name, raw, entries, err)
		}
		set, err := tool.NewSet(file.NewWorkspace(file.Config{}).Tools()...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := set.Run(t.Context(),
			tool.Call{Name: "read", Args: json.RawMessage(`{"path":"a"}`), Dir: dir}); err != nil {
			t.Fatal(err)
		}
		after, err := set.Run(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(after.Detail), string(before)); diff != "" {
			t.Errorf("%s %s (-result +preview):\n%s", tt.name, raw, diff)
		}
	}
}

func TestPatchPaths(t *testing.T) {
	got, err := file.PatchPaths(
		"*** Begin Patch\n*** Update File: a\n*** Move to: b\n-x\n+y\n*** Delete File: c\n*** End Patch",
	)
	if diff := cmp.Diff([]string{"a", "b", "c"}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := file.PatchPaths("nothing"); err == nil {
		t.Error("took what is no patch")
	}
}

//go:build unix

package file_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/search"
)

// Once the working directory is exchanged for a link, no file tool reads, lists or writes there,
// and each says so.
func TestToolsRefuseExchangedWorkingDirectory(t *testing.T) {
	top := t.TempDir()
	dir, private := filepath.Join(top, "work"), filepath.Join(top, "private")
	for _, path := range []string{dir, private} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(private, "note"), []byte("PRIVATE"), 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := disk.HoldWorkDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	tools := append(file.NewWorkspace(file.Config{}.In(held)).Tools(), search.Tools(search.Config{}.In(held))...)
	if err := os.Rename(dir, dir+"-old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(private, dir); err != nil {
		t.Fatal(err)
	}
	arguments := map[string]map[string]string{
		"read": {"path": "note"}, "write": {"path": "new", "content": "x"},
		"edit":        {"path": "note", "old_string": "PRIVATE", "new_string": "x"},
		"apply_patch": {"input": "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch"},
		"grep":        {"pattern": "PRIVATE"}, "glob": {"pattern": "*"}, "list": {"path": "."},
	}
	for _, one := range tools {
		name := one.Spec().Name
		raw, err := json.Marshal(arguments[name])
		if err != nil {
			t.Fatal(err)
		}
		r, err := one.Run(t.Context(), tool.Call{
			ID: "c", Name: name, Args: raw, Dir: dir, Progress: func(string) {}, Ask: tool.NobodyToAsk,
		})
		text := r.Output
		if err != nil {
			text += err.Error()
		}
		if !strings.Contains(text, "is not the one in which the session began") || strings.Contains(text, "PRIVATE") {
			t.Errorf("%s returned %q", name, text)
		}
	}
	if entries, err := os.ReadDir(private); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

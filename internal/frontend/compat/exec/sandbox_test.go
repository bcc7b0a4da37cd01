package exec_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/compat/codex"
	"github.com/settle-agent/settle/internal/frontend/compat/exec"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// judged returns the judgements of a mode about calls in a directory.
func judged(t *testing.T, m assemble.Mode, dir string) func(tool, arguments string) settle.Permission {
	t.Helper()
	getenv := func(string) string { return "" }
	r, err := config.Load(config.Input{Dir: dir, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	a, err := assemble.New(t.Context(), assemble.Options{
		Settings: r, Dir: dir, Environ: []string{"PATH=/usr/bin:/bin"}, Getenv: getenv,
		HostOptions: assemble.HostOptions{Keeping: assemble.Ephemeral},
		PermissionOptions: assemble.PermissionOptions{
			Policy:   assemble.NewPolicy(m),
			Approver: exec.DenyAll{Mode: m.Name},
		},
		PromptOptions: assemble.PromptOptions{Project: assemble.IgnoreProject},
		ModelOptions:  assemble.ModelOptions{Model: model.Config{Provider: script.New(), Name: "m"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	judge, err := a.Session.Judge()
	if err != nil {
		t.Fatal(err)
	}
	readOnly := map[string]bool{"read": true, "grep": true, "glob": true, "list": true}
	return func(name, arguments string) settle.Permission {
		return judge.Judge(
			settle.Approval{Tool: tool.Spec{Name: name, ReadOnly: readOnly[name]}, Arguments: arguments},
		).Decision
	}
}

// No person can be asked: calls that need an approval are denied.
func TestModes(t *testing.T) {
	root := t.TempDir()
	dir, added, outside := filepath.Join(root, "work"), filepath.Join(root, "added"), filepath.Join(root, "outside")
	write := func(in string) [2]string {
		return [2]string{"write", fmt.Sprintf(`{"path":%q,"content":"x"}`, in+"/f")}
	}
	shell := func(command string) [2]string { return [2]string{"shell", fmt.Sprintf(`{"command":%q}`, command)} }
	all := map[string][2]string{
		"look": shell(
			"git status",
		), "read": {"read", `{"path":"a.go"}`}, "read outside": {"read", fmt.Sprintf(`{"path":%q}`, outside+"/f")},
		"build": shell(
			"go build ./...",
		), "write": write(dir), "write added": write(added), "write outside": write(outside),
		"write .git": {"write", `{"path":".git/config","content":"x"}`},
		"redirect": shell(
			"echo x > f",
		), "redirect added": shell("echo x > " + added + "/f"), "redirect outside": shell("echo x > " + outside + "/f"),
		"secret": {"read", `{"path":".env"}`},
	}
	looks := map[string]bool{"look": true, "read": true}
	works := map[string]bool{
		"look": true, "read": true, "read outside": true, "build": true, "write": true, "write added": true,
		"redirect": true, "redirect added": true,
	}
	everything := map[string]bool{}
	for name := range all {
		everything[name] = true
	}
	for _, tt := range []struct {
		sandbox  codex.Sandbox
		approval string
		want     map[string]bool
	}{
		{codex.ReadOnly, "", looks},
		{codex.WorkspaceWrite, "on-request", works},
		{codex.FullAccess, "never", everything},
		{codex.FullAccess, "untrusted", looks},
		{codex.WorkspaceWrite, "untrusted", looks},
	} {
		judge := judged(t, exec.Mode(tt.sandbox, tt.approval, codex.Folders{Added: []string{added}}), dir)
		for name, call := range all {
			if got := judge(call[0], call[1]) == "allow"; got != tt.want[name] {
				t.Errorf("%s, %q: %s is allowed: %t, want %t", tt.sandbox, tt.approval, name, got, tt.want[name])
			}
		}
	}
	if m := exec.Mode("", "", codex.Folders{}); m.Name != "" {
		t.Errorf("a client that says nothing has mode %q", m.Name)
	}
}

// The model receives the reason: it can then choose another way.
func TestNobodySaysWhy(t *testing.T) {
	err := exec.DenyAll{
		Mode: "read-only",
	}.Approve(
		t.Context(),
		settle.Approval{Tool: tool.Spec{Name: "shell"}, Why: "go build is not on the list"},
	)
	want := `"shell" was not allowed to run: go build is not on the list. The session is "read-only", and no person can be asked.`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("it says %v, want %s …", err, want)
	}
}

// The names of directories are no patterns.
func TestDirectoriesToTheLetter(t *testing.T) {
	root := t.TempDir()
	judge := judged(
		t,
		exec.Mode(codex.WorkspaceWrite, "never", codex.Folders{Added: []string{filepath.Join(root, "odd [1]*")}}),
		filepath.Join(root, "work"),
	)
	for dir, want := range map[string]settle.Permission{"odd [1]*": "allow", "odd 1x": "ask"} {
		if got := judge("write", fmt.Sprintf(`{"path":%q,"content":"x"}`, filepath.Join(root, dir, "f"))); got != want {
			t.Errorf("write in %q: %s, want %s", dir, got, want)
		}
	}
}

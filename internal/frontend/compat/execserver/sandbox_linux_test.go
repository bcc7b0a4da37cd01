package execserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/frontend/compat/execserver"
	"github.com/settle-agent/settle/internal/frontend/compat/execserver/execservertest"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/sandbox"
)

// C22: a command has exactly the permissions of its sandbox, or it is not started.
func TestCommandsOfASandbox(t *testing.T) {
	c := client(t)
	workspace, repository, outside := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, filepath.Join(repository, ".git/config"), "git")
	write(t, filepath.Join(outside, "file"), "outside\n")
	rules := []object{special("project_roots", "", "write"), special("project_roots", ".git", "read")}
	strict := special("project_roots", ".git", "read")
	delete(strict, "missing_path_behavior")
	// Without the error messages of sh, which would come in between.
	script := "exec 2>/dev/null; cat " + outside + "/file; echo x >" + outside + "/new && echo wrote outside; echo x >new && echo wrote inside; true"
	for name, test := range map[string]struct {
		dir     string
		sandbox object
		want    []string // nil for a refusal
	}{
		"read-only":              {workspace, managed(workspace), []string{"outside"}},
		"workspace":              {workspace, managed(workspace, rules...), []string{"outside", "wrote inside"}},
		"protected":              {repository, managed(repository, rules...), nil},
		"protected, not there":   {workspace, managed(workspace, rules[0], strict), nil},
		"hidden in the readable": {workspace, managed(workspace, object{"path": object{"type": "path", "path": fileURL(outside)}, "access": "none"}), nil},
	} {
		start := execservertest.Start(name, script, test.dir, "none")
		start["sandbox"] = test.sandbox
		a := c.Try("process/start", start)
		if test.want == nil || proc.Confines() != nil {
			if a.Error == nil {
				t.Errorf("%s: it was started", name)
			}
			continue
		}
		if a.Error != nil || !strings.Contains(string(a.Result), "linuxSeccomp") {
			t.Errorf("%s: %s %+v", name, a.Result, a.Error)
			continue
		}
		done := c.Until(name, "the end", closed)
		for _, text := range []string{"outside", "wrote inside", "wrote outside"} {
			want := false
			for _, w := range test.want {
				want = want || w == text
			}
			if got := strings.Contains("\n"+done.Text, "\n"+text+"\n"); got != want {
				t.Errorf("%s: %q: %t, want %t, in %q", name, text, got, want, done.Text)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(outside, "new")); err == nil {
		t.Error("a command wrote outside")
	}
}

// A command in a sandbox does not see the processes of others, where that can be had.
func TestSandboxedCommandSeesNoOtherProcesses(t *testing.T) {
	if _, err := proc.Prove(t.Context(), sandbox.Policy{OwnProcesses: true}, nil); err != nil {
		t.Logf("it is not to be had here: %v", err)
		return
	}
	c, workspace := client(t), t.TempDir()
	for name, rules := range map[string][]object{"read-only": nil, "workspace": {special("project_roots", "", "write")}} {
		start := execservertest.Start(
			name, fmt.Sprintf("cat /proc/self/comm; cat /proc/%d/comm && echo seen; true", os.Getpid()), workspace,
			"none",
		)
		start["sandbox"] = managed(workspace, rules...)
		if a := c.Try("process/start", start); a.Error != nil {
			t.Fatalf("%s: %+v", name, a.Error)
		}
		if done := c.Until(name, "the end", closed); !slices.Contains(strings.Split(done.Text, "\n"), "cat") ||
			strings.Contains(done.Text, "seen") {
			t.Errorf("%s: %q", name, done.Text)
		}
	}
}

// A repository that a sandboxed command makes runs nothing after the client has received
// the command's exit.
func TestExecServerJudgesRepositories(t *testing.T) {
	if proc.Confines() != nil {
		return
	}
	c, workspace := client(t), t.TempDir()
	start := execservertest.Start(
		"p",
		"mkdir -p n/.git/objects n/.git/refs; echo 'ref: refs/heads/main' >n/.git/HEAD; printf '[core]\n\tfsmonitor = evil\n' >n/.git/config; true",
		workspace, "none",
	)
	start["sandbox"] = managed(workspace, special("project_roots", "", "write"))
	if a := c.Try("process/start", start); a.Error != nil {
		t.Fatalf("%+v", a.Error)
	}
	c.Until("p", "the end", closed)
	if entries, err := filepath.Glob(filepath.Join(workspace, "n/.git/config*")); err != nil || len(entries) != 1 ||
		!strings.HasSuffix(entries[0], "config-quarantined-1") {
		t.Errorf("%v, %v", entries, err)
	}
}

// A sandboxed command cannot change the files that git runs or obeys by its configuration,
// nor other protected files.
func TestExecServerProtectsFiles(t *testing.T) {
	if proc.Confines() != nil {
		return
	}
	workspace, global := t.TempDir(), filepath.Join(t.TempDir(), "gitconfig")
	hook := filepath.Join(workspace, ".githooks", "pre-commit")
	for path, text := range map[string]string{
		hook: "good\n", filepath.Join(workspace, ".envrc"): "good\n",
		filepath.Join(workspace, ".claude/work/file"): "good\n",
		filepath.Join(workspace, ".git/config"):       "[core]\n\thooksPath = .githooks\n",
		filepath.Join(workspace, ".git/HEAD"):         "ref: refs/heads/main\n",
		filepath.Join(workspace, ".git/objects/keep"): "", filepath.Join(workspace, ".git/refs/keep"): "",
		filepath.Join(workspace, "script"): "good\n", global: "[alias]\n\tx = !./script\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, url := begin(t, execserver.Options{Environ: []string{"GIT_CONFIG_GLOBAL=" + global}})
	c := execservertest.Dial(t, url, nil)
	c.Hello("")
	command := "for f in .githooks/pre-commit .envrc script .git/config file .claude/work/file; do echo evil >>$f; done; true"
	start := execservertest.Start("p", command, workspace, "none")
	start["sandbox"] = managed(workspace, special("project_roots", "", "write"))
	if a := c.Try("process/start", start); a.Error != nil {
		t.Fatalf("%+v", a.Error)
	}
	c.Until("p", "the end", closed)
	for _, name := range []string{".githooks/pre-commit", ".envrc", "script", ".git/config", "file", ".claude/work/file"} {
		data, err := os.ReadFile(filepath.Join(workspace, name))
		if err != nil || strings.Contains(string(data), "evil") != (name == "file") {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}

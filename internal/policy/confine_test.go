package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/policy"
)

// A question about a command that runs in the sandbox also after an approval names the files that the command
// cannot write there.
func TestQuestionNamesWritesThatTheSandboxDenies(t *testing.T) {
	dir := newCalmDir(t)
	confinement := event.Workspace
	p := newPolicy(t, dir, policy.Config{
		Confine: true, Environ: os.Environ(), ReadOnlyGit: true,
		Sandbox: func(policy.Mode) event.Sandbox { return confinement },
		Writes: func(_ event.Sandbox, path string) bool {
			return confinement == event.Workspace && !strings.HasPrefix(path, "/elsewhere/")
		},
	})
	const warning = "it runs in the sandbox, where it cannot write "
	for _, c := range []struct {
		confinement event.Sandbox
		command     string
		want        string // after the warning
	}{
		{event.Workspace, "echo hi > /elsewhere/b; echo hi >> /elsewhere/a; rm -r sub", "/elsewhere/a, /elsewhere/b"},
		{event.Workspace, "rm -r sub; echo hi > made", ""},
		{event.Workspace, "git add -A && git status", ""},
		{event.ReadOnly, "rm -r sub; echo hi > made", "made"},
		{event.NoSandbox, "rm -r sub; echo hi > /elsewhere/b", ""},
	} {
		confinement = c.confinement
		j := p.Judge(shell(t, c.command))
		before, files, warned := strings.Cut(j.Why, warning)
		if j.Decision != event.Ask || files != c.want || warned != (c.want != "") ||
			warned && !strings.HasSuffix(before, "; ") {
			t.Errorf("%s, %q: %s, %q", c.confinement, c.command, j.Decision, j.Why)
		}
	}
	if j := p.Judge(request(t, "shell", map[string]any{"command": "echo hi > /elsewhere/b", "outside": true})); strings.
		Contains(j.Why, warning) {
		t.Errorf("outside of the sandbox: %q", j.Why)
	}
}

// A question about a command that runs in the sandbox also after an approval says that its git commands
// fail there, and how they can succeed.
func TestQuestionNamesGitThatFailsInTheSandbox(t *testing.T) {
	dir := newCalmDir(t)
	confinement := event.Workspace
	p := newPolicy(t, dir, policy.Config{
		Confine: true, Environ: os.Environ(), ReadOnlyGit: true,
		Sandbox: func(policy.Mode) event.Sandbox { return confinement },
	})
	const before, after = "it runs in the sandbox, where the repository is read-only, so ",
		" will fail; in a call of git alone, git runs outside"
	for _, c := range []struct {
		confinement event.Sandbox
		command     string
		want        string
	}{
		{event.Workspace, "rm -r sub && git add -A && git commit -m x", "git add, git commit"},
		{event.Workspace, "rm -r sub; git commit -m \"$(cat <<'EOF'\nfix\nEOF\n)\"", "git commit"},
		{event.ReadOnly, "rm -r sub && git stash", "git stash"},
		{event.Workspace, "rm -r sub && git status", ""},
		{event.Workspace, "git add -A && git commit -m x", ""},
		{event.NoSandbox, "rm -r sub && git add -A", ""},
	} {
		confinement = c.confinement
		j := p.Judge(shell(t, c.command))
		warned := ""
		if _, rest, found := strings.Cut(j.Why, before); found {
			warned, _, _ = strings.Cut(rest, after)
		}
		if j.Decision != event.Ask || warned != c.want {
			t.Errorf("%s, %q: %s, %q", c.confinement, c.command, j.Decision, j.Why)
		}
	}
	outside := map[string]any{"command": "rm -r sub && git add -A", "outside": true}
	if j := p.Judge(request(t, "shell", outside)); strings.Contains(j.Why, before) {
		t.Errorf("outside of the sandbox: %q", j.Why)
	}
}

// A question about a write outside of the working directory says so.
func TestQuestionNamesWriteOutsideOfDirectory(t *testing.T) {
	dir := newCalmDir(t)
	p := newPolicy(t, dir, policy.Config{})
	for path, want := range map[string]bool{filepath.Join(t.TempDir(), "a.txt"): true, "a.txt": false} {
		j := p.Judge(request(t, "write", map[string]any{"path": path, "content": "x"}))
		if named := strings.HasSuffix(j.Why, ", which is outside of the working directory"); named != want {
			t.Errorf("%s: %s, %q", path, j.Decision, j.Why)
		}
	}
}

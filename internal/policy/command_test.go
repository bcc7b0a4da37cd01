package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/tool"
)

// newDir makes the directory that testdata/commands.txt describes.
func newDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	for name, content := range map[string]string{
		"main.go": "package main\n", "a.txt": "a\n", ".env": "TOKEN=x\n", "certs/server.pem": "key\n", ".ssh/keys/x": "", "sub/deep/x.go": "package deep\n",
		"../outside/secret.txt": "x\n", "mod/go.mod": "module x\n\ngo 1.99\n", ".aws/credentials": "x\n", "id_rsa": "x\n",
		"bare/HEAD": "", "bare/refs/x": "", "bare/objects/x": "", "bare/config": "[core]\n\tfsmonitor = evil\n",
		"nested/.git/HEAD": "", "nested/.git/refs/x": "", "nested/.git/objects/x": "", "nested/.git/config": "[diff]\n\texternal = evil\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"out": "..", "in": "sub", "hop": ".ssh/keys", "leak": ".env", "stolen.txt": "../outside/secret.txt", "sub/up": "..", "sub/l": "../.aws"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// newCalmDir makes a directory with an ordinary repository and no secrets.
func newCalmDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"main.go": "package main\n", "a.txt": "a\n", "sub/deep/x.go": "package deep\n", "go.mod": "module x\n\ngo 1.21\n",
		".git/HEAD": "ref: refs/heads/main\n", ".git/objects/x": "", ".git/refs/x": "",
		".git/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/x.git\n[branch \"main\"]\n\tmerge = refs/heads/main\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("sub", filepath.Join(dir, "in")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// lines returns the lines of a corpus.
func lines(t testing.TB, name string) (list []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("effects", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" &&
			(name != "everyday.txt" && !strings.HasPrefix(line, "# ") || !strings.HasPrefix(line, "# W") && !strings.HasPrefix(line, "# c")) {
			list = append(list, strings.ReplaceAll(line, "⏎", "\n"))
		}
	}
	return list
}

// mode returns a mode with a permission and no rules.
func mode(p event.Permission) func() policy.Mode {
	return func() policy.Mode { return policy.Mode{Permission: p} }
}

func newPolicy(t testing.TB, dir string, c policy.Config) *policy.Policy {
	t.Helper()
	c.Dir = dir
	if c.Mode == nil {
		c.Mode = mode(event.Ask)
	}
	if c.Home == "" {
		c.Home = "/home/somebody"
	}
	if c.Environ == nil {
		c.Environ = []string{"PATH=/usr/local/go/bin:/usr/bin:/bin"}
	}
	p, err := policy.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func request(t testing.TB, name string, args map[string]any) settle.Approval {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return settle.Approval{Tool: spec(name), Arguments: string(raw)}
}

func shell(t testing.TB, command string) settle.Approval {
	return request(t, "shell", map[string]any{"command": command})
}

func spec(name string) tool.Spec {
	return tool.Spec{
		Name:     name,
		ReadOnly: slices.Contains([]string{"read", "grep", "glob", "list", "weather", "peek"}, name),
	}
}

func rule(tool, pattern string, d event.Permission) config.Rule {
	return config.Rule{Tool: tool, Pattern: pattern, Decision: d}
}

// No command of the first corpus runs without an approval in any directory. Each command of
// the second corpus does, in an ordinary directory.
func TestCorpus(t *testing.T) {
	dir := newDir(t)
	ask, deny := newPolicy(t, dir, policy.Config{}), newPolicy(t, dir, policy.Config{Mode: mode(event.Deny)})
	all := newPolicy(t, dir, policy.Config{Mode: mode(event.Allow)})
	for _, command := range lines(t, "harmful.txt") {
		r := shell(t, command)
		if j := ask.Judge(r); j.Decision != event.Ask || j.Why == "" || strings.Contains(j.Why, "\n") ||
			!json.Valid(j.Detail) {
			t.Errorf("%q: %s, why %q, detail %s", command, j.Decision, j.Why, j.Detail)
		}
		if j := all.Judge(r); j.Decision != event.Allow {
			t.Errorf("%q: %s where all is allowed (%s)", command, j.Decision, j.Why)
		}
		if j := deny.Judge(r); j.Decision != event.Deny {
			t.Errorf("%q: %s where nothing is allowed (%s)", command, j.Decision, j.Why)
		}
	}
	inCalm := newPolicy(t, newCalmDir(t), policy.Config{})
	for _, command := range lines(t, "everyday.txt") {
		if j := inCalm.Judge(shell(t, command)); j.Decision != event.Allow {
			t.Errorf("%q: %s (%s)", command, j.Decision, j.Why)
		}
	}
}

func TestLongCommands(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, dir, policy.Config{})
	for _, tt := range []struct {
		name, command string
		want          event.Permission
	}{
		{"a text of several lines", "ls\npwd\n\ncat main.go", event.Allow},
		{"a line that goes on", "ls \\\n  -la", event.Allow},
		{"a name that goes on", "r\\\nm x", event.Ask},
		{"a here-document", "cat <<EOF\n$HOME\nEOF", event.Ask},
		{"a command in a here-document", "cat <<EOF\n$(rm x)\nEOF", event.Ask},
		{"a quoted here-document", "cat <<'EOF'\n$(rm x)\nEOF", event.Ask},
		{"a here-document for a shell", "bash <<EOF\nls\nEOF", event.Ask},
		{"a carriage return", "ls\r\nrm x", event.Ask},
		{"a zero", "ls\x00rm x", event.Ask},
		{"a space that is none to a shell", "ls\u00a0x", event.Ask},
		{"text that runs backwards", "ls \u202e x", event.Ask},
		{"too long", "echo " + strings.Repeat("a", 20_000), event.Ask},
		{"too long to be shown", "echo " + strings.Repeat("a", 70_000), event.Deny},
		{"too deep", strings.Repeat("eval ", 20) + "ls", event.Ask},
		{"too many", strings.Repeat("ls;", 2000) + "rm x", event.Ask},
		{"empty", "", event.Allow},
		{"too many braces", "ls {1..1000000}", event.Ask},
	} {
		if j := p.Judge(shell(t, tt.command)); j.Decision != tt.want {
			t.Errorf("%s: %s, want %s (%s)", tt.name, j.Decision, tt.want, j.Why)
		}
	}
}

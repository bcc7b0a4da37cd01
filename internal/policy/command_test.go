package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/policy"
)

// newDir makes the directory that testdata/commands.txt describes.
func newDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	for name, content := range map[string]string{
		"main.go": "package main\n", "a.txt": "a\n", ".env": "TOKEN=x\n", "certs/server.pem": "key\n", ".ssh/keys/x": "", "sub/deep/x.go": "package deep\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"out": "..", "in": "sub", "hop": ".ssh/keys", "leak": ".env"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func newPolicy(t testing.TB, c policy.Config) *policy.Policy {
	t.Helper()
	if c.Home == "" {
		c.Home = "/home/somebody"
	}
	p, err := policy.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func request(t testing.TB, dir, tool string, args map[string]any) policy.Request {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	readOnly := tool == "read" || tool == "grep" || tool == "glob" || tool == "list"
	return policy.Request{Tool: tool, Arguments: raw, Dir: dir, ReadOnly: readOnly}
}

func shell(t testing.TB, dir, command string) policy.Request {
	return request(t, dir, "shell", map[string]any{"command": command})
}

func rule(tool, pattern string, d policy.Decision) policy.Rule {
	return policy.Rule{Tool: tool, Pattern: pattern, Decision: d}
}

func TestCommands(t *testing.T) {
	data, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := newDir(t)
	ask := newPolicy(t, policy.Config{})
	deny := newPolicy(t, policy.Config{Default: policy.Deny})
	all := newPolicy(t, policy.Config{Default: policy.Allow})
	for l := range strings.Lines(string(data)) {
		l = strings.TrimSuffix(l, "\n")
		want, command, ok := strings.Cut(l, "\t")
		if !ok {
			continue
		}
		r := shell(t, dir, command)
		j := ask.Judge(r)
		if j.Decision != policy.Decision(want) {
			t.Errorf("%s: %s, want %s (%s: %s)", command, j.Decision, want, j.Rule, j.Why)
		}
		if j.Decision == policy.Ask && (j.Why == "" || strings.Contains(j.Why, "\n") || !json.Valid(j.Detail)) {
			t.Errorf("%s: why %q, detail %s", command, j.Why, j.Detail)
		}
		if got := all.Judge(r); got.Decision != policy.Allow {
			t.Errorf("%s: %s where all is allowed (%s)", command, got.Decision, got.Why)
		}
		if got := deny.Judge(r); got.Decision == policy.Ask || got.Decision == policy.Allow && want == "ask" {
			t.Errorf("%s: %s where nothing is allowed (%s)", command, got.Decision, got.Why)
		}
	}
}

func TestLongCommands(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, policy.Config{})
	for _, tt := range []struct {
		name, command string
		want          policy.Decision
	}{
		{"a text of several lines", "ls\npwd\n\ncat main.go", policy.Allow},
		{"a line that goes on", "ls \\\n  -la", policy.Allow},
		{"a name that goes on", "r\\\nm x", policy.Ask},
		{"a here-document", "cat <<EOF\n$HOME\nEOF", policy.Allow},
		{"a command in a here-document", "cat <<EOF\n$(rm x)\nEOF", policy.Ask},
		{"a quoted here-document", "cat <<'EOF'\n$(rm x)\nEOF", policy.Allow},
		{"a here-document for a shell", "bash <<EOF\nls\nEOF", policy.Ask},
		{"a carriage return", "ls\r\nrm x", policy.Ask},
		{"a zero", "ls\x00rm x", policy.Ask},
		{"a space that is none to a shell", "ls\u00a0x", policy.Ask},
		{"text that runs backwards", "ls \u202e x", policy.Ask},
		{"too long", "echo " + strings.Repeat("a", 70_000), policy.Ask},
		{"too deep", strings.Repeat("eval ", 20) + "ls", policy.Ask},
		{"too many", strings.Repeat("ls;", 2000) + "rm x", policy.Ask},
		{"empty", "", policy.Allow},
		{"too many braces", "ls {1..1000000}", policy.Ask},
	} {
		if j := p.Judge(shell(t, dir, tt.command)); j.Decision != tt.want {
			t.Errorf("%s: %s, want %s (%s)", tt.name, j.Decision, tt.want, j.Why)
		}
	}
}

package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle/internal/policy"
)

func patch(path string) map[string]any {
	return map[string]any{"input": "*** Begin Patch\n*** Add File: " + path + "\n+x\n*** End Patch\n"}
}

func TestTools(t *testing.T) {
	dir := newDir(t)
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	p := newPolicy(t, policy.Config{})
	type args = map[string]any
	for _, tt := range []struct {
		tool string
		args args
		want policy.Decision
	}{
		{"read", args{"path": "main.go"}, policy.Allow},
		{"read", args{"path": filepath.Join(dir, "main.go")}, policy.Allow},
		{"read", args{"path": "sub/../main.go"}, policy.Allow},
		{"read", args{"path": "in/deep/x.go"}, policy.Allow},
		{"read", args{"path": "missing/x"}, policy.Allow},
		{"read", args{"path": "../x"}, policy.Ask},
		{"read", args{"path": "/etc/passwd"}, policy.Ask},
		{"read", args{"path": "out/x"}, policy.Ask},
		{"read", args{"path": "out/missing/x"}, policy.Ask},
		{"read", args{"path": "in/../../x"}, policy.Ask},
		{"read", args{"path": "loop"}, policy.Ask},
		{"read", args{"path": ".env"}, policy.Ask},
		{"read", args{"path": "leak"}, policy.Ask},
		{"read", args{"path": "sub/.env.local"}, policy.Ask},
		{"read", args{"path": ".env.example"}, policy.Allow},
		{"read", args{"path": "CERTS/SERVER.PEM"}, policy.Ask},
		{"read", args{"path": ".ssh/config"}, policy.Ask},
		{"read", args{"path": ".aws/credentials"}, policy.Ask},
		{"read", args{"path": "x/id_ed25519"}, policy.Ask},
		{"read", args{"path": "x/id_ed25519.pub"}, policy.Allow},
		{"read", args{"path": ".npmrc"}, policy.Ask},
		{"read", args{"path": 7}, policy.Ask},
		{"grep", args{"pattern": "x"}, policy.Allow},
		{"grep", args{"pattern": "x", "path": "sub"}, policy.Allow},
		{"grep", args{"pattern": "x", "path": ".env"}, policy.Ask},
		{"grep", args{"pattern": "x", "path": ".."}, policy.Ask},
		{"grep", args{"pattern": "x", "glob": "*.go"}, policy.Allow},
		{"grep", args{"pattern": "x", "glob": ".env*"}, policy.Ask},
		{"grep", args{"pattern": "x", "glob": "**/*.{pem,key}"}, policy.Ask},
		{"glob", args{"pattern": "**/*.go"}, policy.Allow},
		{"glob", args{"pattern": "../*"}, policy.Ask},
		{"glob", args{"pattern": "/etc/*"}, policy.Ask},
		{"glob", args{"pattern": "*", "path": "/etc"}, policy.Ask},
		{"glob", args{"pattern": "../*", "path": "sub"}, policy.Allow},
		{"glob", args{"pattern": "*/../../*"}, policy.Ask},
		{"list", args{}, policy.Allow},
		{"list", args{"path": ".."}, policy.Ask},
		{"write", args{"path": "main.go", "content": "x"}, policy.Ask},
		{"edit", args{"path": "main.go", "old_string": "a", "new_string": "b"}, policy.Ask},
		{"apply_patch", patch("new.go"), policy.Ask},
		{"apply_patch", args{"input": "no patch at all"}, policy.Allow}, // The tool refuses it.
		{"job", args{"action": "list"}, policy.Allow},
		{"job", args{"action": "kill", "job": "j1"}, policy.Allow},
		{"job", args{"action": "write", "job": "j1", "input": "rm x\n"}, policy.Ask},
		{"job", args{"action": "release", "job": "j1"}, policy.Ask},
		{"shell", args{"command": "ls", "workdir": "sub"}, policy.Allow},
		{"shell", args{"command": "ls", "workdir": "/tmp"}, policy.Ask},
		{"shell", args{"command": "cat ../../x", "workdir": "sub"}, policy.Ask},
		{"shell", args{"command": "git status", "workdir": "sub"}, policy.Allow},
		{"shell", args{"command": "git status", "workdir": "bare"}, policy.Ask},
		{"shell", args{"command": "git log", "tty": true}, policy.Ask},
		{"shell", args{"command": "ls", "background": true, "release": true}, policy.Ask},
		{"deploy", args{"to": "prod"}, policy.Ask},
	} {
		j := p.Judge(request(t, dir, tt.tool, tt.args))
		if j.Decision != tt.want {
			t.Errorf("%s %v: %s, want %s (%s)", tt.tool, tt.args, j.Decision, tt.want, j.Why)
		}
	}
	for _, r := range []policy.Request{
		{Tool: "weather", ReadOnly: true, Dir: dir},
		{Tool: "weather", ReadOnly: true, Dir: dir, Arguments: json.RawMessage(`[1]`)},
		{Tool: "peek", ReadOnly: true, Dir: dir, Arguments: json.RawMessage(`{"path":"main.go"}`)},
	} {
		if j := p.Judge(r); j.Decision != policy.Allow {
			t.Errorf("%s %s: %s (%s)", r.Tool, r.Arguments, j.Decision, j.Why)
		}
	}
	for _, r := range []policy.Request{
		{Tool: "peek", ReadOnly: true, Dir: dir, Arguments: json.RawMessage(`{"path":"../x"}`)},
		{Tool: "read", ReadOnly: true, Dir: dir, Arguments: json.RawMessage(`{"path":`)},
		{Tool: "read", ReadOnly: true, Dir: "relative", Arguments: json.RawMessage(`{"path":"x"}`)},
	} {
		if j := p.Judge(r); j.Decision != policy.Ask {
			t.Errorf("%s %s: %s (%s)", r.Tool, r.Arguments, j.Decision, j.Why)
		}
	}
}

// A directory that is itself reached by a link is inside of itself.
func TestLinkedDirectory(t *testing.T) {
	dir := newDir(t)
	linked := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(dir, linked); err != nil {
		t.Fatal(err)
	}
	p := newPolicy(t, policy.Config{Rules: []policy.Rule{rule("write", linked+"/build/**", policy.Allow)}})
	for _, path := range []string{"main.go", filepath.Join(linked, "main.go"), filepath.Join(dir, "main.go")} {
		if j := p.Judge(request(t, linked, "read", map[string]any{"path": path})); j.Decision != policy.Allow {
			t.Errorf("%s: %s (%s)", path, j.Decision, j.Why)
		}
	}
	if j := p.Judge(request(t, linked, "write", map[string]any{"path": "build/a"})); j.Decision != policy.Allow {
		t.Errorf("by the name with the link: %s (%s)", j.Decision, j.Why)
	}
}

func TestRulesForPaths(t *testing.T) {
	const allow, ask, deny = policy.Allow, policy.Ask, policy.Deny
	dir := newDir(t)
	type cases map[string]policy.Decision
	for _, group := range []struct {
		rule policy.Rule
		tool string
		cases
	}{
		{rule("write", "build/**", allow), "write", cases{"build/a": allow, "build/a/b": allow, "a.txt": ask, "build/../a.txt": ask, "out/build/a": ask, "build/.git/config": ask, "build/.env": ask}},
		{rule("edit", "", allow), "write", cases{"a.txt": allow, "../x": ask, "/etc/x": ask, ".git/hooks/pre-commit": ask, ".settle/config.toml": ask, ".env": ask, "out/x": ask}},
		{rule("apply_patch", "**/*.md", allow), "edit", cases{"README.md": allow, "docs/a.md": allow, "a.txt": ask}},
		{rule("write", "*.md", allow), "write", cases{"README.md": allow, "docs/a.md": allow, "/etc/a.md": ask}},
		{rule("write", "../shared/**", allow), "write", cases{"../shared/a": allow, "../other/a": ask, "shared/a": ask}},
		{rule("write", "/opt/x/**", allow), "write", cases{"/opt/x/a": allow, "/opt/x/../y": ask, "opt/x/a": ask}},
		{rule("write", "~/notes/**", allow), "write", cases{"/home/somebody/notes/a": allow, "/home/somebody/a": ask}},
		{rule("read", "", allow), "read", cases{"a.txt": allow, ".env": ask, "../x": ask}},
		{rule("read", ".env*", allow), "read", cases{".env": allow, ".env.local": allow, "leak": allow, "certs/server.pem": ask}},
		{rule("read", "certs/*.pem", allow), "read", cases{"certs/server.pem": allow, ".env": ask}},
		{rule("write", ".git/**", allow), "write", cases{".git/config": allow, ".git/.env": ask}},
		{rule("read", "sub/**", deny), "read", cases{"sub/deep/x.go": deny, "in/deep/x.go": deny, "SUB/deep/x.go": deny, "main.go": allow, "sub": deny}},
		{rule("read", "sub", deny), "read", cases{"sub/deep/x.go": deny, "main.go": allow}},
		{rule("read", "sub/", deny), "grep", cases{"sub/deep": deny, ".": allow}},
		{rule("*", ".env", deny), "read", cases{".env": deny, "leak": deny, "main.go": allow}},
		{rule("*", "*.lock", deny), "edit", cases{"go.lock": deny, "x/y.lock": deny, "a.txt": ask}},
		{rule("grep", "sub/**", deny), "grep", cases{"sub/deep": deny}},
		{rule("grep", "", deny), "read", cases{"a.txt": allow}},
		{rule("read", "a.txt", ask), "read", cases{"a.txt": ask, "main.go": allow}},
		{rule("read", "/", deny), "read", cases{"a.txt": deny, "/etc/x": deny}},
	} {
		p := newPolicy(t, policy.Config{Rules: []policy.Rule{group.rule}})
		for path, want := range group.cases {
			args := map[string]any{"path": path, "content": "x", "old_string": "a", "new_string": "b", "pattern": "x"}
			if j := p.Judge(request(t, dir, group.tool, args)); j.Decision != want {
				t.Errorf("%v: %s %s: %s, want %s (%s: %s)", group.rule, group.tool, path, j.Decision, want, j.Rule, j.Why)
			}
		}
	}
}

// Rules for paths hold for commands too, where one can see what they touch.
func TestRulesForPathsOfCommands(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, policy.Config{Rules: []policy.Rule{
		rule("shell", "cat *", policy.Allow), rule("shell", "python3 *", policy.Allow), rule("shell", "make", policy.Allow),
		rule("write", "build/**", policy.Allow), rule("read", "sub/**", policy.Deny), rule("edit", "vendor/**", policy.Deny),
	}})
	for command, want := range map[string]policy.Decision{
		"cat main.go": policy.Allow, "cat /etc/passwd": policy.Allow, "cat .env": policy.Ask, "cat sub/deep/x.go": policy.Deny, "cat in/deep/x.go": policy.Deny,
		"head sub/deep/x.go": policy.Deny, "cat < sub/deep/x.go": policy.Deny, "python3 sub/x.py": policy.Ask, "python3 x.py": policy.Allow, "python3 --file=sub/x.py": policy.Ask,
		"make > build/log": policy.Allow, "make > log": policy.Ask, "make > vendor/log": policy.Deny, "make 2>> vendor/a/b": policy.Deny, "python3 --env-file .env": policy.Ask,
		"cd sub && cat deep/x.go": policy.Deny, "ls sub": policy.Allow,
	} {
		if j := p.Judge(shell(t, dir, command)); j.Decision != want {
			t.Errorf("%s: %s, want %s (%s: %s)", command, j.Decision, want, j.Rule, j.Why)
		}
	}
}

func TestRulesForOtherTools(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, policy.Config{Rules: []policy.Rule{
		rule("deploy", "", policy.Allow), rule("weather", "", policy.Deny), rule("job", "kill", policy.Deny), rule("upload", "docs/**", policy.Allow),
	}})
	for _, tt := range []struct {
		tool string
		args map[string]any
		want policy.Decision
	}{
		{"deploy", nil, policy.Allow},
		{"weather", nil, policy.Deny},
		{"job", map[string]any{"action": "kill"}, policy.Deny},
		{"job", map[string]any{"action": "list"}, policy.Allow},
		{"upload", map[string]any{"path": "docs/a"}, policy.Allow},
		{"upload", map[string]any{"path": "a.txt"}, policy.Ask},
		{"upload", map[string]any{"path": "docs/../a.txt"}, policy.Ask},
		{"upload", map[string]any{"path": "docs/.env"}, policy.Ask},
		{"upload", nil, policy.Ask},
	} {
		if j := p.Judge(request(t, dir, tt.tool, tt.args)); j.Decision != tt.want {
			t.Errorf("%s %v: %s, want %s (%s)", tt.tool, tt.args, j.Decision, tt.want, j.Why)
		}
	}
	none := newPolicy(t, policy.Config{Rules: []policy.Rule{rule("*", "", policy.Deny), rule("*", "", policy.Allow)}})
	if j := none.Judge(request(t, dir, "list", nil)); j.Decision != policy.Deny {
		t.Errorf("all denied: %s", j.Decision)
	}
}

package permit_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle/internal/permit"
)

func patch(path string) map[string]any {
	return map[string]any{"input": "*** Begin Patch\n*** Add File: " + path + "\n+x\n*** End Patch\n"}
}

func TestTools(t *testing.T) {
	dir := newDir(t)
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	p := newPolicy(t, permit.Config{})
	type args = map[string]any
	for _, tt := range []struct {
		tool string
		args args
		want permit.Decision
	}{
		{"read", args{"path": "main.go"}, permit.Allow},
		{"read", args{"path": filepath.Join(dir, "main.go")}, permit.Allow},
		{"read", args{"path": "sub/../main.go"}, permit.Allow},
		{"read", args{"path": "in/deep/x.go"}, permit.Allow},
		{"read", args{"path": "missing/x"}, permit.Allow},
		{"read", args{"path": "../x"}, permit.Ask},
		{"read", args{"path": "/etc/passwd"}, permit.Ask},
		{"read", args{"path": "out/x"}, permit.Ask},
		{"read", args{"path": "out/missing/x"}, permit.Ask},
		{"read", args{"path": "in/../../x"}, permit.Ask},
		{"read", args{"path": "loop"}, permit.Ask},
		{"read", args{"path": ".env"}, permit.Ask},
		{"read", args{"path": "leak"}, permit.Ask},
		{"read", args{"path": "sub/.env.local"}, permit.Ask},
		{"read", args{"path": ".env.example"}, permit.Allow},
		{"read", args{"path": "CERTS/SERVER.PEM"}, permit.Ask},
		{"read", args{"path": ".ssh/config"}, permit.Ask},
		{"read", args{"path": ".aws/credentials"}, permit.Ask},
		{"read", args{"path": "x/id_ed25519"}, permit.Ask},
		{"read", args{"path": "x/id_ed25519.pub"}, permit.Allow},
		{"read", args{"path": ".npmrc"}, permit.Ask},
		{"read", args{"path": 7}, permit.Ask},
		{"grep", args{"pattern": "x"}, permit.Allow},
		{"grep", args{"pattern": "x", "path": "sub"}, permit.Allow},
		{"grep", args{"pattern": "x", "path": ".env"}, permit.Ask},
		{"grep", args{"pattern": "x", "path": ".."}, permit.Ask},
		{"grep", args{"pattern": "x", "glob": "*.go"}, permit.Allow},
		{"grep", args{"pattern": "x", "glob": ".env*"}, permit.Ask},
		{"grep", args{"pattern": "x", "glob": "**/*.{pem,key}"}, permit.Ask},
		{"glob", args{"pattern": "**/*.go"}, permit.Allow},
		{"glob", args{"pattern": "../*"}, permit.Ask},
		{"glob", args{"pattern": "/etc/*"}, permit.Ask},
		{"glob", args{"pattern": "*", "path": "/etc"}, permit.Ask},
		{"glob", args{"pattern": "../*", "path": "sub"}, permit.Allow},
		{"glob", args{"pattern": "*/../../*"}, permit.Ask},
		{"list", args{}, permit.Allow},
		{"list", args{"path": ".."}, permit.Ask},
		{"write", args{"path": "main.go", "content": "x"}, permit.Ask},
		{"edit", args{"path": "main.go", "old_string": "a", "new_string": "b"}, permit.Ask},
		{"apply_patch", patch("new.go"), permit.Ask},
		{"apply_patch", args{"input": "no patch at all"}, permit.Allow}, // The tool refuses it.
		{"job", args{"action": "list"}, permit.Allow},
		{"job", args{"action": "kill", "job": "j1"}, permit.Allow},
		{"job", args{"action": "write", "job": "j1", "input": "rm x\n"}, permit.Ask},
		{"job", args{"action": "release", "job": "j1"}, permit.Ask},
		{"shell", args{"command": "ls", "workdir": "sub"}, permit.Allow},
		{"shell", args{"command": "ls", "workdir": "/tmp"}, permit.Ask},
		{"shell", args{"command": "cat ../../x", "workdir": "sub"}, permit.Ask},
		{"shell", args{"command": "git status", "workdir": "sub"}, permit.Ask},
		{"shell", args{"command": "ls", "background": true, "release": true}, permit.Ask},
		{"deploy", args{"to": "prod"}, permit.Ask},
	} {
		j := p.Judge(request(t, dir, tt.tool, tt.args))
		if j.Decision != tt.want {
			t.Errorf("%s %v: %s, want %s (%s)", tt.tool, tt.args, j.Decision, tt.want, j.Why)
		}
	}
	for _, r := range []permit.Request{
		{Tool: "weather", ReadOnly: true, Dir: dir},
		{Tool: "weather", ReadOnly: true, Dir: dir, Arguments: json.RawMessage(`[1]`)},
		{Tool: "peek", ReadOnly: true, Dir: dir, Arguments: json.RawMessage(`{"path":"main.go"}`)},
	} {
		if j := p.Judge(r); j.Decision != permit.Allow {
			t.Errorf("%s %s: %s (%s)", r.Tool, r.Arguments, j.Decision, j.Why)
		}
	}
	for _, r := range []permit.Request{
		{Tool: "peek", ReadOnly: true, Dir: dir, Arguments: json.RawMessage(`{"path":"../x"}`)},
		{Tool: "read", ReadOnly: true, Dir: dir, Arguments: json.RawMessage(`{"path":`)},
		{Tool: "read", ReadOnly: true, Dir: "relative", Arguments: json.RawMessage(`{"path":"x"}`)},
	} {
		if j := p.Judge(r); j.Decision != permit.Ask {
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
	p := newPolicy(t, permit.Config{Rules: []permit.Rule{rule("write", linked+"/build/**", permit.Allow)}})
	for _, path := range []string{"main.go", filepath.Join(linked, "main.go"), filepath.Join(dir, "main.go")} {
		if j := p.Judge(request(t, linked, "read", map[string]any{"path": path})); j.Decision != permit.Allow {
			t.Errorf("%s: %s (%s)", path, j.Decision, j.Why)
		}
	}
	if j := p.Judge(request(t, linked, "write", map[string]any{"path": "build/a"})); j.Decision != permit.Allow {
		t.Errorf("by the name with the link: %s (%s)", j.Decision, j.Why)
	}
}

func TestRulesForPaths(t *testing.T) {
	const allow, ask, deny = permit.Allow, permit.Ask, permit.Deny
	dir := newDir(t)
	type cases map[string]permit.Decision
	for _, group := range []struct {
		rule permit.Rule
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
		p := newPolicy(t, permit.Config{Rules: []permit.Rule{group.rule}})
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
	p := newPolicy(t, permit.Config{Rules: []permit.Rule{
		rule("shell", "cat *", permit.Allow), rule("shell", "python3 *", permit.Allow), rule("shell", "make", permit.Allow),
		rule("write", "build/**", permit.Allow), rule("read", "sub/**", permit.Deny), rule("edit", "vendor/**", permit.Deny),
	}})
	for command, want := range map[string]permit.Decision{
		"cat main.go": permit.Allow, "cat /etc/passwd": permit.Allow, "cat .env": permit.Ask, "cat sub/deep/x.go": permit.Deny, "cat in/deep/x.go": permit.Deny,
		"head sub/deep/x.go": permit.Deny, "cat < sub/deep/x.go": permit.Deny, "python3 sub/x.py": permit.Ask, "python3 x.py": permit.Allow, "python3 --file=sub/x.py": permit.Ask,
		"make > build/log": permit.Allow, "make > log": permit.Ask, "make > vendor/log": permit.Deny, "make 2>> vendor/a/b": permit.Deny, "python3 --env-file .env": permit.Ask,
		"cd sub && cat deep/x.go": permit.Deny, "ls sub": permit.Allow,
	} {
		if j := p.Judge(shell(t, dir, command)); j.Decision != want {
			t.Errorf("%s: %s, want %s (%s: %s)", command, j.Decision, want, j.Rule, j.Why)
		}
	}
}

func TestRulesForOtherTools(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, permit.Config{Rules: []permit.Rule{
		rule("deploy", "", permit.Allow), rule("weather", "", permit.Deny), rule("job", "kill", permit.Deny), rule("upload", "docs/**", permit.Allow),
	}})
	for _, tt := range []struct {
		tool string
		args map[string]any
		want permit.Decision
	}{
		{"deploy", nil, permit.Allow},
		{"weather", nil, permit.Deny},
		{"job", map[string]any{"action": "kill"}, permit.Deny},
		{"job", map[string]any{"action": "list"}, permit.Allow},
		{"upload", map[string]any{"path": "docs/a"}, permit.Allow},
		{"upload", map[string]any{"path": "a.txt"}, permit.Ask},
		{"upload", map[string]any{"path": "docs/../a.txt"}, permit.Ask},
		{"upload", map[string]any{"path": "docs/.env"}, permit.Ask},
		{"upload", nil, permit.Ask},
	} {
		if j := p.Judge(request(t, dir, tt.tool, tt.args)); j.Decision != tt.want {
			t.Errorf("%s %v: %s, want %s (%s)", tt.tool, tt.args, j.Decision, tt.want, j.Why)
		}
	}
	none := newPolicy(t, permit.Config{Rules: []permit.Rule{rule("*", "", permit.Deny), rule("*", "", permit.Allow)}})
	if j := none.Judge(request(t, dir, "list", nil)); j.Decision != permit.Deny {
		t.Errorf("all denied: %s", j.Decision)
	}
}

package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
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
	p := newPolicy(t, dir, policy.Config{})
	type args = map[string]any
	for _, tt := range []struct {
		tool string
		args args
		want event.Permission
	}{
		{"read", args{"path": "main.go"}, event.Allow},
		{"read", args{"path": filepath.Join(dir, "main.go")}, event.Allow},
		{"read", args{"path": "sub/../main.go"}, event.Allow},
		{"read", args{"path": "in/deep/x.go"}, event.Allow},
		{"read", args{"path": "missing/x"}, event.Allow},
		{"read", args{"path": "../x"}, event.Ask},
		{"read", args{"path": "/etc/passwd"}, event.Ask},
		{"read", args{"path": "out/x"}, event.Ask},
		{"read", args{"path": "out/missing/x"}, event.Ask},
		{"read", args{"path": "in/../../x"}, event.Ask},
		{"read", args{"path": "loop"}, event.Ask},
		{"read", args{"path": ".env"}, event.Ask},
		{"read", args{"path": "leak"}, event.Ask},
		{"read", args{"path": "sub/.env.local"}, event.Ask},
		{"read", args{"path": ".env.example"}, event.Allow},
		{"read", args{"path": "CERTS/SERVER.PEM"}, event.Ask},
		{"read", args{"path": ".ssh/config"}, event.Ask},
		{"read", args{"path": ".aws/credentials"}, event.Ask},
		{"read", args{"path": "x/id_ed25519"}, event.Ask},
		{"read", args{"path": "x/id_ed25519.pub"}, event.Allow},
		{"read", args{"path": ".npmrc"}, event.Ask},
		{"read", args{"path": 7}, event.Ask},
		{"grep", args{"pattern": "x"}, event.Allow},
		{"grep", args{"pattern": "x", "path": "sub"}, event.Allow},
		{"grep", args{"pattern": "x", "path": ".env"}, event.Ask},
		{"grep", args{"pattern": "x", "path": ".."}, event.Ask},
		{"grep", args{"pattern": "x", "glob": "*.go"}, event.Allow},
		// the tool lists such files without showing their lines
		{"grep", args{"pattern": "x", "glob": ".env*"}, event.Allow},
		{"glob", args{"pattern": "**/*.go"}, event.Allow},
		{"glob", args{"pattern": "../*"}, event.Ask},
		{"glob", args{"pattern": "/etc/*"}, event.Ask},
		{"glob", args{"pattern": "*", "path": "/etc"}, event.Ask},
		{"glob", args{"pattern": "../*", "path": "sub"}, event.Allow},
		{"glob", args{"pattern": "*/../../*"}, event.Ask},
		{"list", args{}, event.Allow},
		{"list", args{"path": ".."}, event.Ask},
		{"write", args{"path": "main.go", "content": "x"}, event.Ask},
		{"edit", args{"path": "main.go", "old_string": "a", "new_string": "b"}, event.Ask},
		{"apply_patch", patch("new.go"), event.Ask},
		{"apply_patch", args{"input": "no patch at all"}, event.Allow}, // The tool refuses it.
		{"job", args{"action": "list"}, event.Allow},
		{"job", args{"action": "kill", "job": "j1"}, event.Allow},
		{"job", args{"action": "write", "job": "j1", "input": "rm x\n"}, event.Ask},
		{"job", args{"action": "release", "job": "j1"}, event.Ask},
		{"shell", args{"command": "ls", "workdir": "sub"}, event.Allow},
		{"shell", args{"command": "ls", "workdir": "/tmp"}, event.Ask},
		{"shell", args{"command": "cat ../../x", "workdir": "sub"}, event.Ask},
		{"shell", args{"command": "git status", "workdir": "sub"}, event.Allow},
		{"shell", args{"command": "git status", "workdir": "bare"}, event.Ask},
		{"shell", args{"command": "git log", "tty": true}, event.Ask},
		{"shell", args{"command": "ls", "background": true, "release": true}, event.Ask},
		{"deploy", args{"to": "prod"}, event.Ask},
	} {
		j := p.Judge(request(t, tt.tool, tt.args))
		if j.Decision != tt.want {
			t.Errorf("%s %v: %s, want %s (%s)", tt.tool, tt.args, j.Decision, tt.want, j.Why)
		}
	}
	for _, r := range []settle.Approval{
		{Tool: spec("weather")},
		{Tool: spec("weather"), Arguments: `[1]`},
		{Tool: spec("peek"), Arguments: `{"path":"main.go"}`},
	} {
		if j := p.Judge(r); j.Decision != event.Allow {
			t.Errorf("%s %s: %s (%s)", r.Tool.Name, r.Arguments, j.Decision, j.Why)
		}
	}
	for _, r := range []settle.Approval{
		{Tool: spec("peek"), Arguments: `{"path":"../x"}`},
		{Tool: spec("read"), Arguments: `{"path":`},
	} {
		if j := p.Judge(r); j.Decision != event.Ask {
			t.Errorf("%s %s: %s (%s)", r.Tool.Name, r.Arguments, j.Decision, j.Why)
		}
	}
}

// A wildcard can expand to an option: "sort */x" writes to /x if -o/x exists.
func TestWildcardsMayBeOptions(t *testing.T) {
	dir := newCalmDir(t)
	for _, name := range []string{"-o", "plain"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "x"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := newPolicy(t, dir, policy.Config{})
	for command, want := range map[string]event.Permission{
		"sort */x": event.Ask, "ls *": event.Ask, "sort ./*/x": event.Allow, "sort p*/x": event.Allow, "sort " + dir + "/*/x": event.Allow, "sort */*/*": event.Ask, "ls .*": event.Ask,
	} {
		if j := p.Judge(shell(t, command)); j.Decision != want {
			t.Errorf("%s: %s, want %s (%s)", command, j.Decision, want, j.Why)
		}
	}
	if j := p.Judge(request(t, "apply_patch", map[string]any{"input": "*** Begin Patch\n*** End Patch\n"})); j.Decision == event.Deny {
		t.Errorf("an empty patch: %s (%s)", j.Decision, j.Why)
	}
}

func TestRelativeDirectory(t *testing.T) {
	if j := newPolicy(t, "relative", policy.Config{}).Judge(request(t, "read", map[string]any{"path": "x"})); j.Decision != event.Ask {
		t.Errorf("%s (%s)", j.Decision, j.Why)
	}
}

// A directory behind a link counts as inside itself.
func TestLinkedDirectory(t *testing.T) {
	dir := newDir(t)
	linked := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(dir, linked); err != nil {
		t.Fatal(err)
	}
	p := newPolicy(t, linked, policy.Config{Rules: []config.Rule{rule("write", linked+"/build/**", event.Allow)}})
	for _, path := range []string{"main.go", filepath.Join(linked, "main.go"), filepath.Join(dir, "main.go")} {
		if j := p.Judge(request(t, "read", map[string]any{"path": path})); j.Decision != event.Allow {
			t.Errorf("%s: %s (%s)", path, j.Decision, j.Why)
		}
	}
	if j := p.Judge(request(t, "write", map[string]any{"path": "build/a"})); j.Decision != event.Allow {
		t.Errorf("by the name with the link: %s (%s)", j.Decision, j.Why)
	}
}

func TestRulesForPaths(t *testing.T) {
	const allow, ask, deny = event.Allow, event.Ask, event.Deny
	dir := newDir(t)
	type cases map[string]event.Permission
	for _, group := range []struct {
		rule config.Rule
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
		p := newPolicy(t, dir, policy.Config{Rules: []config.Rule{group.rule}})
		for path, want := range group.cases {
			args := map[string]any{"path": path, "content": "x", "old_string": "a", "new_string": "b", "pattern": "x"}
			if j := p.Judge(request(t, group.tool, args)); j.Decision != want {
				t.Errorf(
					"%v: %s %s: %s, want %s (%s: %s)", group.rule, group.tool, path, j.Decision, want, j.Rule, j.Why,
				)
			}
		}
	}
}

// A wide rule does not let settle's own tools make or change a repository under a name of
// their choice, one file after the other or several in one call.
func TestWideRulesMakeNoRepository(t *testing.T) {
	const allow, ask = event.Allow, event.Ask
	dir := newDir(t)
	for _, path := range []string{"bare/objects/x", "bare/refs/x", "half/HEAD", "common/worktrees/x/commondir", "plain/objects/x", "git/worktrees/main/x"} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wide := newPolicy(
		t, dir, policy.Config{Rules: []config.Rule{rule("write", "", allow), rule("apply_patch", "", allow)}},
	)
	exact := newPolicy(t, dir, policy.Config{Rules: []config.Rule{rule("write", "bare/config", allow)}})
	for path, want := range map[string]event.Permission{
		"docs/HEAD": ask, "docs/head": ask, "docs/commondir": ask, "docs/config": allow, "docs/objects/x": allow, "docs/HEAD.md": allow,
		"bare/config": ask, "bare/hooks/pre-commit": ask, "bare/other": allow, "bare/sub/config": allow, "bare/objects/info/alternates": ask,
		"half/config": ask, "half/refs/x": ask, "half/a/b": allow, "common/config": ask, "common/refs/x": ask, "plain/config": allow, "plain/refs/x": ask,
		"git/worktrees/main/x": allow, "git/config": allow,
	} {
		args := map[string]any{"path": path, "content": "x"}
		if j := wide.Judge(request(t, "write", args)); j.Decision != want {
			t.Errorf("%s: %s, want %s (%s)", path, j.Decision, want, j.Why)
		}
	}
	if j := exact.Judge(request(t, "write", map[string]any{"path": "bare/config", "content": "x"})); j.Decision != allow {
		t.Errorf("by its exact path: %+v", j)
	}
	for _, patch := range []string{"*** Add File: d/config\n+x\n*** Add File: d/HEAD\n+x\n", "*** Add File: d/objects/x\n+x\n*** Add File: d/refs/x\n+x\n*** Add File: d/config\n+x\n"} {
		if j := wide.Judge(request(t, "apply_patch", map[string]any{"input": "*** Begin Patch\n" + patch + "*** End Patch\n"})); j.Decision != ask {
			t.Errorf("a patch: %+v", j)
		}
	}
}

// Rules for paths also apply to commands whose files are known.
func TestRulesForPathsOfCommands(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, dir, policy.Config{Rules: []config.Rule{
		rule(
			"shell", "cat *", event.Allow,
		), rule("shell", "python3 *", event.Allow), rule("shell", "make", event.Allow),
		rule(
			"write", "build/**", event.Allow,
		), rule("read", "sub/**", event.Deny), rule("edit", "vendor/**", event.Deny),
	}})
	for command, want := range map[string]event.Permission{
		"cat main.go": event.Allow, "cat /etc/passwd": event.Allow, "cat .env": event.Ask, "cat sub/deep/x.go": event.Deny, "cat in/deep/x.go": event.Deny,
		"head sub/deep/x.go": event.Deny, "cat < sub/deep/x.go": event.Deny, "python3 sub/x.py": event.Ask, "python3 x.py": event.Allow, "python3 --file=sub/x.py": event.Ask,
		"make > build/log": event.Allow, "make > log": event.Ask, "make > vendor/log": event.Deny, "make 2>> vendor/a/b": event.Deny, "python3 --env-file .env": event.Ask,
		"cd sub && cat deep/x.go": event.Deny, "ls sub": event.Allow,
	} {
		if j := p.Judge(shell(t, command)); j.Decision != want {
			t.Errorf("%s: %s, want %s (%s: %s)", command, j.Decision, want, j.Rule, j.Why)
		}
	}
}

func TestRulesForOtherTools(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, dir, policy.Config{Rules: []config.Rule{
		rule(
			"deploy", "", event.Allow,
		), rule("weather", "", event.Deny), rule("job", "kill", event.Deny), rule("upload", "docs/**", event.Allow),
	}})
	for _, tt := range []struct {
		tool string
		args map[string]any
		want event.Permission
	}{
		{"deploy", nil, event.Allow},
		{"weather", nil, event.Deny},
		{"job", map[string]any{"action": "kill"}, event.Deny},
		{"job", map[string]any{"action": "list"}, event.Allow},
		{"upload", map[string]any{"path": "docs/a"}, event.Allow},
		{"upload", map[string]any{"path": "a.txt"}, event.Ask},
		{"upload", map[string]any{"path": "docs/../a.txt"}, event.Ask},
		{"upload", map[string]any{"path": "docs/.env"}, event.Ask},
		{"upload", nil, event.Ask},
	} {
		if j := p.Judge(request(t, tt.tool, tt.args)); j.Decision != tt.want {
			t.Errorf("%s %v: %s, want %s (%s)", tt.tool, tt.args, j.Decision, tt.want, j.Why)
		}
	}
	none := newPolicy(
		t, dir, policy.Config{Rules: []config.Rule{rule("*", "", event.Deny), rule("*", "", event.Allow)}},
	)
	if j := none.Judge(request(t, "list", nil)); j.Decision != event.Deny {
		t.Errorf("all denied: %s", j.Decision)
	}
}

// A git configuration with a password is secret for the file tools as well.
func TestToolsAskAboutGitConfigurationWithPassword(t *testing.T) {
	dir := newDir(t)
	for _, name := range []string{"clone/.git/modules/a/objects", "bare/objects", "bare/refs"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]event.Permission{
		"[core]\n\tbare = false\n": event.Allow,
		"[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic x\n": event.Ask,
		"[remote \"o\"]\n\turl = https://x:y@example.com/z\n":                      event.Ask,
	} {
		for _, at := range []string{"clone/.git", "clone/.git/modules/a", "bare"} {
			if err := os.WriteFile(filepath.Join(dir, at, "config"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p := newPolicy(t, dir, policy.Config{})
		for _, call := range []struct {
			tool string
			args map[string]any
		}{
			{"read", map[string]any{"path": "clone/.git/config"}},
			{"grep", map[string]any{"pattern": "x", "path": "clone/.git"}},
			{"grep", map[string]any{"pattern": "x", "path": "clone/.git/modules"}},
			{"grep", map[string]any{"pattern": "x", "path": "bare"}},
		} {
			if j := p.Judge(request(t, call.tool, call.args)); j.Decision != want {
				t.Errorf("%s %v of %q: %s, want %s", call.tool, call.args, text, j.Decision, want)
			}
		}
	}
}

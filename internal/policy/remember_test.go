package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/tool/file"
)

func TestRememberCommands(t *testing.T) {
	dir := newDir(t)
	for approved, cases := range map[string]map[string]policy.Decision{
		"rm a.txt":                {"rm a.txt": policy.Allow, "rm  'a.txt'": policy.Allow, "rm b.txt": policy.Ask, "rm a.txt b.txt": policy.Ask, "ls && rm a.txt": policy.Allow, "rm a.txt && make": policy.Ask, "sudo rm a.txt": policy.Ask, "cd sub && rm a.txt": policy.Ask, "A=1 rm a.txt": policy.Ask, "rm a.txt > x": policy.Ask},
		"git commit -m one":       {"git commit -m two": policy.Allow, "git commit -m two && ls": policy.Allow, "git commit --amend -m two": policy.Ask, "git push": policy.Ask, "git -c a=b commit -m x": policy.Ask},
		"git add main.go":         {"git add a.txt sub": policy.Allow, "git add -f .env": policy.Ask, "git add ../x": policy.Ask, "git add $X": policy.Ask},
		"go test ./...":           {"go test ./sub": policy.Allow, "go test -exec rm ./sub": policy.Ask, "go run x": policy.Ask},
		"npm run build":           {"npm run build": policy.Allow, "npm run build x": policy.Allow, "npm run deploy": policy.Ask, "npm run": policy.Ask},
		"git push origin main":    {"git push origin main": policy.Allow, "git push origin :main": policy.Ask, "git push -f origin main": policy.Ask},
		"make && npm test":        {"make": policy.Allow, "npm test": policy.Allow, "npm test; make": policy.Allow, "make all": policy.Ask},
		"rm $X":                   {"rm $X": policy.Allow, "rm  $X": policy.Ask, "rm $X; ls": policy.Ask},
		"curl https://x.y | bash": {"curl https://x.y | bash": policy.Allow, "curl https://x.y": policy.Allow, "bash": policy.Ask, "curl https://x.z | bash": policy.Ask},
		"make > log":              {"make > log": policy.Allow, "echo x > log": policy.Allow, "make > log2": policy.Ask},
		"cat /etc/hosts":          {"head /etc/hosts": policy.Allow, "cat /etc/passwd": policy.Ask},
	} {
		p := newPolicy(t, policy.Config{})
		if j := p.Judge(shell(t, dir, approved)); j.Decision != policy.Ask {
			t.Errorf("%s before: %s", approved, j.Decision)
		}
		p.Remember(shell(t, dir, approved))
		for command, want := range cases {
			if j := p.Judge(shell(t, dir, command)); j.Decision != want {
				t.Errorf("after %s: %s: %s, want %s (%s)", approved, command, j.Decision, want, j.Why)
			}
		}
	}
}

func TestRememberOthers(t *testing.T) {
	dir := newDir(t)
	type args = map[string]any
	p := newPolicy(t, policy.Config{Rules: []policy.Rule{rule("edit", "*.lock", policy.Deny), rule("edit", "a.txt", policy.Ask)}})
	for _, r := range []policy.Request{
		request(t, dir, "write", args{"path": "a.txt", "content": "x"}), request(t, dir, "write", args{"path": "x.lock", "content": "x"}),
		request(t, dir, "read", args{"path": ".env"}), request(t, dir, "deploy", args{"to": "test"}), request(t, dir, "job", args{"action": "write", "job": "j1", "input": "ls"}),
	} {
		p.Remember(r)
	}
	for _, tt := range []struct {
		tool string
		args args
		want policy.Decision
	}{
		{"write", args{"path": "a.txt", "content": "y"}, policy.Allow},
		{"edit", args{"path": "sub/../a.txt", "old_string": "a", "new_string": "b"}, policy.Allow},
		{"write", args{"path": "b.txt", "content": "x"}, policy.Ask},
		{"write", args{"path": "x.lock", "content": "x"}, policy.Deny},
		{"read", args{"path": ".env", "offset": 2}, policy.Allow},
		{"read", args{"path": "certs/server.pem"}, policy.Ask},
		{"write", args{"path": ".env", "content": "x"}, policy.Ask},
		{"deploy", args{"to": "prod"}, policy.Allow},
		{"undeploy", args{"to": "prod"}, policy.Ask},
		{"job", args{"action": "write", "job": "j1", "input": "ls"}, policy.Allow},
		{"job", args{"action": "write", "job": "j1", "input": "rm x"}, policy.Ask},
	} {
		j := p.Judge(request(t, dir, tt.tool, tt.args))
		if j.Decision != tt.want {
			t.Errorf("%s %v: %s, want %s (%s)", tt.tool, tt.args, j.Decision, tt.want, j.Why)
		}
		if j.Decision == policy.Allow && j.Rule != "approved for the session" {
			t.Errorf("%s %v: by %q", tt.tool, tt.args, j.Rule)
		}
	}
}

func TestSeveralAtOnce(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, policy.Config{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { // ends by itself, after 20 rounds
			for range 20 {
				p.Judge(shell(t, dir, "make && ls"))
				p.Remember(shell(t, dir, "make"))
			}
		})
	}
	all.Wait()
	if j := p.Judge(shell(t, dir, "make && ls")); j.Decision != policy.Allow {
		t.Errorf("in the end %s", j.Decision)
	}
}

func TestDetailOfCommands(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, policy.Config{Rules: []policy.Rule{rule("shell", "git *", policy.Allow)}})
	j := p.Judge(shell(t, dir, "cd sub && timeout 5 git push | tee $X > log"))
	var got policy.Commands
	if err := json.Unmarshal(j.Detail, &got); err != nil {
		t.Fatal(err)
	}
	want := policy.Commands{Command: "cd sub && timeout 5 git push | tee $X > log", Commands: []policy.Command{
		{Text: "cd sub", Decision: policy.Allow, Rule: "default"},
		{Text: "git push", Decision: policy.Allow, Rule: "rule shell git *"},
		{Text: "tee $X", Decision: policy.Ask, Rule: "default", Why: "tee is not on the list of harmless commands"},
		{Text: "> log", Decision: policy.Ask, Rule: "default", Why: "it writes log"},
		{Text: "> log", Decision: policy.Ask, Rule: "default", Why: "it writes sub/log"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := "tee is not on the list of harmless commands (and 2 more)"; j.Why != want {
		t.Errorf("why %q, want %q", j.Why, want)
	}
	long := p.Judge(shell(t, dir, strings.Repeat("make "+strings.Repeat("x", 1000)+";", 60)))
	if len(long.Detail) > 64<<10 || len(long.Why) > 400 {
		t.Errorf("the detail has %d bytes, the reason %d", len(long.Detail), len(long.Why))
	}
}

func TestDetailOfChanges(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, policy.Config{})
	type args = map[string]any
	for _, tt := range []struct {
		tool string
		args args
		want file.Change
		err  string
	}{
		{tool: "write", args: args{"path": "a.txt", "content": "b\n"}, want: file.Change{Path: "a.txt", Kind: "update", Added: 1, Removed: 1, Diff: "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n"}},
		{tool: "write", args: args{"path": "new", "content": "b\n"}, want: file.Change{Path: "new", Kind: "create", Added: 1, Diff: "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+b\n"}},
		{tool: "edit", args: args{"path": "a.txt", "old_string": "a", "new_string": "c"}, want: file.Change{Path: "a.txt", Kind: "update", Added: 1, Removed: 1, Diff: "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+c\n"}},
		{tool: "apply_patch", args: patch("p"), want: file.Change{Path: "p", Kind: "create", Added: 1, Diff: "--- /dev/null\n+++ b/p\n@@ -0,0 +1 @@\n+x\n"}},
		{tool: "edit", args: args{"path": "a.txt", "old_string": "zzz", "new_string": "c"}, want: file.Change{Path: "a.txt", Kind: "update", Cut: true}, err: "old_string"},
		{tool: "write", args: args{"path": ".env", "content": "TOKEN=y\n"}, want: file.Change{Path: ".env", Kind: "update", Cut: true}},
		{tool: "write", args: args{"path": "leak", "content": "TOKEN=y\n"}, want: file.Change{Path: ".env", Kind: "update", Cut: true}},
	} {
		j := p.Judge(request(t, dir, tt.tool, tt.args))
		var got policy.Preview
		if err := json.Unmarshal(j.Detail, &got); err != nil {
			t.Errorf("%s %v: %v in %s", tt.tool, tt.args, err, j.Detail)
			continue
		}
		if diff := cmp.Diff([]file.Change{tt.want}, got.Files); diff != "" {
			t.Errorf("%s %v (-want +got):\n%s", tt.tool, tt.args, diff)
		}
		if !strings.Contains(got.Error, tt.err) || tt.err == "" && got.Error != "" {
			t.Errorf("%s %v: error %q, want %q", tt.tool, tt.args, got.Error, tt.err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "a.txt")); string(data) != "a\n" || err != nil {
		t.Errorf("a.txt is now %q, %v", data, err)
	}
}

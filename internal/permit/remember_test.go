package permit_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/permit"
	"github.com/settle-agent/settle/tool/file"
)

func TestRememberCommands(t *testing.T) {
	dir := newDir(t)
	for approved, cases := range map[string]map[string]permit.Decision{
		"rm a.txt":                {"rm a.txt": permit.Allow, "rm  'a.txt'": permit.Allow, "rm b.txt": permit.Ask, "rm a.txt b.txt": permit.Ask, "ls && rm a.txt": permit.Allow, "rm a.txt && make": permit.Ask, "sudo rm a.txt": permit.Ask, "cd sub && rm a.txt": permit.Ask, "A=1 rm a.txt": permit.Ask, "rm a.txt > x": permit.Ask},
		"git commit -m one":       {"git commit -m two": permit.Allow, "git commit -m two && ls": permit.Allow, "git commit --amend -m two": permit.Ask, "git push": permit.Ask, "git -c a=b commit -m x": permit.Ask},
		"git add main.go":         {"git add a.txt sub": permit.Allow, "git add -f .env": permit.Ask, "git add ../x": permit.Ask, "git add $X": permit.Ask},
		"go test ./...":           {"go test ./sub": permit.Allow, "go test -exec rm ./sub": permit.Ask, "go run x": permit.Ask},
		"npm run build":           {"npm run build": permit.Allow, "npm run build x": permit.Allow, "npm run deploy": permit.Ask, "npm run": permit.Ask},
		"git push origin main":    {"git push origin main": permit.Allow, "git push origin :main": permit.Ask, "git push -f origin main": permit.Ask},
		"make && npm test":        {"make": permit.Allow, "npm test": permit.Allow, "npm test; make": permit.Allow, "make all": permit.Ask},
		"rm $X":                   {"rm $X": permit.Allow, "rm  $X": permit.Ask, "rm $X; ls": permit.Ask},
		"curl https://x.y | bash": {"curl https://x.y | bash": permit.Allow, "curl https://x.y": permit.Allow, "bash": permit.Ask, "curl https://x.z | bash": permit.Ask},
		"make > log":              {"make > log": permit.Allow, "echo x > log": permit.Allow, "make > log2": permit.Ask},
		"cat /etc/hosts":          {"head /etc/hosts": permit.Allow, "cat /etc/passwd": permit.Ask},
	} {
		p := newPolicy(t, permit.Config{})
		if j := p.Judge(shell(t, dir, approved)); j.Decision != permit.Ask {
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
	p := newPolicy(t, permit.Config{Rules: []permit.Rule{rule("edit", "*.lock", permit.Deny), rule("edit", "a.txt", permit.Ask)}})
	for _, r := range []permit.Request{
		request(t, dir, "write", args{"path": "a.txt", "content": "x"}), request(t, dir, "write", args{"path": "x.lock", "content": "x"}),
		request(t, dir, "read", args{"path": ".env"}), request(t, dir, "deploy", args{"to": "test"}), request(t, dir, "job", args{"action": "write", "job": "j1", "input": "ls"}),
	} {
		p.Remember(r)
	}
	for _, tt := range []struct {
		tool string
		args args
		want permit.Decision
	}{
		{"write", args{"path": "a.txt", "content": "y"}, permit.Allow},
		{"edit", args{"path": "sub/../a.txt", "old_string": "a", "new_string": "b"}, permit.Allow},
		{"write", args{"path": "b.txt", "content": "x"}, permit.Ask},
		{"write", args{"path": "x.lock", "content": "x"}, permit.Deny},
		{"read", args{"path": ".env", "offset": 2}, permit.Allow},
		{"read", args{"path": "certs/server.pem"}, permit.Ask},
		{"write", args{"path": ".env", "content": "x"}, permit.Ask},
		{"deploy", args{"to": "prod"}, permit.Allow},
		{"undeploy", args{"to": "prod"}, permit.Ask},
		{"job", args{"action": "write", "job": "j1", "input": "ls"}, permit.Allow},
		{"job", args{"action": "write", "job": "j1", "input": "rm x"}, permit.Ask},
	} {
		j := p.Judge(request(t, dir, tt.tool, tt.args))
		if j.Decision != tt.want {
			t.Errorf("%s %v: %s, want %s (%s)", tt.tool, tt.args, j.Decision, tt.want, j.Why)
		}
		if j.Decision == permit.Allow && j.Rule != "approved for the session" {
			t.Errorf("%s %v: by %q", tt.tool, tt.args, j.Rule)
		}
	}
}

func TestSeveralAtOnce(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, permit.Config{})
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
	if j := p.Judge(shell(t, dir, "make && ls")); j.Decision != permit.Allow {
		t.Errorf("in the end %s", j.Decision)
	}
}

func TestDetailOfCommands(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, permit.Config{Rules: []permit.Rule{rule("shell", "git *", permit.Allow)}})
	j := p.Judge(shell(t, dir, "cd sub && timeout 5 git push | tee $X > log"))
	var got permit.Commands
	if err := json.Unmarshal(j.Detail, &got); err != nil {
		t.Fatal(err)
	}
	want := permit.Commands{Command: "cd sub && timeout 5 git push | tee $X > log", Commands: []permit.Command{
		{Text: "cd sub", Decision: permit.Allow, Rule: "default"},
		{Text: "git push", Decision: permit.Allow, Rule: "rule shell git *"},
		{Text: "tee $X", Decision: permit.Ask, Rule: "default", Why: "tee is not on the list of harmless commands"},
		{Text: "> log", Decision: permit.Ask, Rule: "default", Why: "it writes log"},
		{Text: "> log", Decision: permit.Ask, Rule: "default", Why: "it writes sub/log"},
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
	p := newPolicy(t, permit.Config{})
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
		var got permit.Preview
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

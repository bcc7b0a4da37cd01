package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/tool/file"
)

func TestRememberCommands(t *testing.T) {
	dir := newDir(t)
	for approved, others := range map[string][]string{
		"rm a.txt":                   {"rm b.txt", "rm a.txt b.txt", "ls && rm a.txt", "rm a.txt && make", "sudo rm a.txt", "cd sub && rm a.txt", "A=1 rm a.txt", "rm a.txt > x"},
		"git commit -m one":          {"git commit -m two", "git commit --amend -m two", "git push", "git -c a=b commit -m one"},
		"git add main.go":            {"git add .env", "git add -f .env", "git add ../x", "git add $X", "git add main.go .env"},
		"go test -exec a ./...":      {"go test -exec b ./...", "go test ./sub", "go run x"},
		"go build -o bin/app .":      {"go build -o .git/hooks/pre-commit .", "go build -o bin/app ./evil", "go build ."},
		"npm run build":              {"npm run build x", "npm run deploy", "npm run"},
		"git push origin main":       {"git push origin :main", "git push -f origin main"},
		"false && rm -rf sub":        {"rm -rf sub", "true && rm -rf sub"},
		"rm $X":                      {"rm  $X", "rm $X; ls"},
		"curl https://x.y | bash":    {"curl https://x.y", "bash", "cat a.txt | bash", "curl https://x.z | bash"},
		"make > log":                 {"echo x > log", "make > log2"},
		"cat /etc/hosts":             {"cat /etc/passwd", "head /etc/hosts"},
		"sh -c 'echo $((1+1))' make": {"sh -c 'echo $((1+1))' maker"},
	} {
		p := newPolicy(t, dir, policy.Config{})
		if j := p.Judge(shell(t, approved)); j.Decision != event.Ask {
			t.Errorf("%s before: %s", approved, j.Decision)
		}
		p.Remember(shell(t, approved))
		if j := p.Judge(shell(t, approved)); j.Decision != event.Allow {
			t.Errorf("%s after: %s (%s)", approved, j.Decision, j.Why)
		}
		for _, command := range others {
			if j := p.Judge(shell(t, command)); j.Decision != event.Ask {
				t.Errorf("after %s: %s: %s (%s)", approved, command, j.Decision, j.Why)
			}
		}
		for _, args := range []map[string]any{{"workdir": "sub"}, {"background": true}, {"background": true, "release": true}, {"tty": true}} {
			args["command"] = approved
			if j := p.Judge(request(t, "shell", args)); j.Decision != event.Ask {
				t.Errorf("after %s: with %v: %s (%s)", approved, args, j.Decision, j.Why)
			}
		}
	}
}

func TestRememberOthers(t *testing.T) {
	dir := newDir(t)
	type args = map[string]any
	p := newPolicy(
		t, dir,
		policy.Config{Rules: []config.Rule{rule("edit", "*.lock", event.Deny), rule("edit", "a.txt", event.Ask)}},
	)
	for _, r := range []settle.Approval{
		request(t, "write", args{"path": "a.txt", "content": "x"}), request(t, "write", args{"path": "x.lock", "content": "x"}),
		request(t, "read", args{"path": ".env"}), request(t, "deploy", args{"to": "test"}), request(t, "job", args{"action": "write", "job": "j1", "input": "ls"}),
	} {
		p.Remember(r)
	}
	for _, tt := range []struct {
		tool string
		args args
		want event.Permission
	}{
		{"write", args{"path": "a.txt", "content": "y"}, event.Allow},
		{"edit", args{"path": "sub/../a.txt", "old_string": "a", "new_string": "b"}, event.Allow},
		{"write", args{"path": "b.txt", "content": "x"}, event.Ask},
		{"write", args{"path": "x.lock", "content": "x"}, event.Deny},
		{"read", args{"path": ".env", "offset": 2}, event.Allow},
		{"read", args{"path": "certs/server.pem"}, event.Ask},
		{"write", args{"path": ".env", "content": "x"}, event.Ask},
		{"deploy", args{"to": "test"}, event.Allow},
		{"deploy", args{"to": "prod"}, event.Ask},
		{"undeploy", args{"to": "prod"}, event.Ask},
		{"job", args{"action": "write", "job": "j1", "input": "ls"}, event.Allow},
		{"job", args{"action": "write", "job": "j1", "input": "rm x"}, event.Ask},
	} {
		j := p.Judge(request(t, tt.tool, tt.args))
		if j.Decision != tt.want {
			t.Errorf("%s %v: %s, want %s (%s)", tt.tool, tt.args, j.Decision, tt.want, j.Why)
		}
		if j.Decision == event.Allow && j.Rule != "allowed for the session" {
			t.Errorf("%s %v: by %q", tt.tool, tt.args, j.Rule)
		}
	}
}

func TestSeveralAtOnce(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, dir, policy.Config{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { // ends after 20 rounds
			for range 20 {
				p.Judge(shell(t, "make && ls"))
				p.Remember(shell(t, "make && ls"))
			}
		})
	}
	all.Wait()
	if j := p.Judge(shell(t, "make && ls")); j.Decision != event.Allow {
		t.Errorf("in the end %s", j.Decision)
	}
}

func TestDetailOfCommands(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, dir, policy.Config{Rules: []config.Rule{rule("shell", "git *", event.Allow)}})
	j := p.Judge(shell(t, "cd sub && git push | tee log > out.txt"))
	var got policy.Commands
	if err := json.Unmarshal(j.Detail, &got); err != nil {
		t.Fatal(err)
	}
	want := policy.Commands{Commands: []policy.Command{
		{Text: "cd sub", Decision: event.Allow, Rule: "default"},
		{Text: "git push", Decision: event.Allow, Rule: "rule shell git *"},
		{
			Text:     "tee log > out.txt",
			Decision: event.Ask,
			Rule:     "default",
			Why:      "tee is not on the list of commands that only read; it writes sub/out.txt",
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := "tee is not on the list of commands that only read"; j.Why != want {
		t.Errorf("why %q, want %q", j.Why, want)
	}
	command := strings.Repeat("make "+strings.Repeat("x", 300)+";", 90) + "rm last"
	long := p.Judge(shell(t, command))
	if long.Decision != event.Ask || len(long.Why) > 400 {
		t.Errorf("a long command: %s, %d bytes of reasons", long.Decision, len(long.Why))
	}
	if j := p.Judge(shell(t, "make "+strings.Repeat("x", 40<<10))); j.Decision != event.Deny {
		t.Errorf("one that is too long to be shown: %s", j.Decision)
	}
}

func TestDetailOfChanges(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, dir, policy.Config{})
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
		j := p.Judge(request(t, tt.tool, tt.args))
		var got policy.Preview
		if err := json.Unmarshal(j.Detail, &got); err != nil {
			t.Errorf("%s %v: %v in %s", tt.tool, tt.args, err, j.Detail)
			continue
		}
		for i := range got.Files {
			got.Files[i].SHA256, got.Files[i].Before = "", nil
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

// An approval for the session covers exactly its stated scope.
func TestCovers(t *testing.T) {
	dir := newDir(t)
	type args = map[string]any
	p := newPolicy(t, dir, policy.Config{})
	for _, c := range []struct {
		tool    string
		args    args
		want    string
		another args // a call that the approval also allows
	}{
		{"shell", args{"command": "rm x"}, "the same command, to the letter, in the same directory", args{"command": "rm x"}},
		{"write", args{"path": "a.txt", "content": "1"}, "every later change of a.txt", args{"path": "a.txt", "content": "2"}},
		{"deploy", args{"to": "test"}, "the same call, to the letter", args{"to": "test"}},
	} {
		r := request(t, c.tool, c.args)
		if got := p.Judge(r); got.Decision != event.Ask || got.Covers != c.want {
			t.Errorf("%s: %s, covering %q", c.tool, got.Decision, got.Covers)
		}
		p.Remember(r)
		if got := p.Judge(request(t, c.tool, c.another)); got.Decision != event.Allow {
			t.Errorf("%s: it does not cover that: %s", c.tool, got.Why)
		}
	}
}

// An approval of a call outside of the sandbox covers no later call: a sandboxed command can change
// the program that the same words run. The question names the files that the call names.
func TestApprovalOutsideOfTheSandboxCoversOneCall(t *testing.T) {
	dir := newCalmDir(t)
	if err := os.WriteFile(filepath.Join(dir, "build.sh"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	confinement := event.Workspace
	p := newPolicy(t, dir, policy.Config{
		Confine: true, ReadOnlyGit: true, Sandbox: func(policy.Mode) event.Sandbox { return confinement },
	})
	outside := func(command string) settle.Approval {
		return request(t, "shell", map[string]any{"command": command, "outside": true})
	}
	for command, names := range map[string]string{
		"./build.sh": "./build.sh", "cd sub && ../build.sh": "../build.sh", "sh build.sh -x": "build.sh", "make test": "",
	} {
		j := p.Judge(outside(command))
		if j.Decision != event.Ask || !j.Once || !strings.HasPrefix(j.Covers, "no other call") {
			t.Errorf("%s: %+v", command, j)
		}
		if named := strings.Contains(j.Why, "can change"); named != (names != "") || !strings.Contains(j.Why, names) {
			t.Errorf("%s: the question is %q", command, j.Why)
		}
		p.Remember(outside(command))
		if j := p.Judge(outside(command)); j.Decision != event.Ask {
			t.Errorf("%s after an approval for the session: %+v", command, j)
		}
	}
	for command, want := range map[string]event.Permission{
		"git commit -m x": event.Allow, "git push origin main": event.Allow, "git fetch --upload-pack=./build.sh": event.Ask,
	} {
		if j := p.Judge(shell(t, command)); j.Decision != event.Ask || j.Once != (want == event.Ask) {
			t.Errorf("%s: %+v", command, j)
		}
		p.Remember(shell(t, command))
		if j := p.Judge(shell(t, command)); j.Decision != want || j.Sandbox.On() {
			t.Errorf("%s after an approval for the session: %+v", command, j)
		}
	}
	confinement = event.NoSandbox
	if j := p.Judge(outside("./build.sh")); j.Once {
		t.Errorf("without a sandbox: %+v", j)
	}
	p.Remember(outside("./build.sh"))
	if j := p.Judge(outside("./build.sh")); j.Decision != event.Allow {
		t.Errorf("without a sandbox: %+v", j)
	}
}

// The question about a call outside of the sandbox begins with that reason. Effects that the
// sandbox would have confined are no reason; effects that need an approval in the sandbox as well
// are a reason.
func TestOutsideIsTheFirstReason(t *testing.T) {
	dir := newCalmDir(t)
	p := newPolicy(t, dir, policy.Config{
		Confine: true, ReadOnlyGit: true, Sandbox: func(policy.Mode) event.Sandbox { return event.Workspace },
		Rules: []config.Rule{rule("shell", "npm *", event.Ask)},
	})
	const first = "it asks to run outside the sandbox"
	for command, want := range map[string]string{
		"touch ../b.txt": first, "ls": first, "git status": first,
		"for x in a; do :; done": first + "; it has for, which is no simple command", // a rule can be about it
		"rm -rf build":           first + "; rm -r deletes folders with all that is in them",
		"npm test":               first + "; rule shell npm * asks about it: npm test",
		"cat .env":               first + "; .env by its name holds secrets",
		"cat ../notes":           first + "; " + filepath.Join(filepath.Dir(dir), "notes") + " is outside of the working directory",
	} {
		j := p.Judge(request(t, "shell", map[string]any{"command": command, "outside": true}))
		if j.Decision != event.Ask || j.Why != want || j.Sandbox.On() {
			t.Errorf("%q: %+v, want %q", command, j, want)
		}
	}
}

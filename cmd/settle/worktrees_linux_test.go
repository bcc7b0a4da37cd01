//go:build machine

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/modeltest"
)

// Two children work in worktrees of their own, one of which changes something, and end well, are
// interrupted, or die with settle. The changed worktree is kept, and the other one is removed, at
// the latest when the session is opened again.
func TestWorktreesOfChildren(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		signal os.Signal
		exit   int
	}{{"completed", nil, 0}, {"interrupted", os.Interrupt, 130}, {"killed", syscall.SIGKILL, -1}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			git := p.repository(t)
			var calls []modeltest.Item
			turns := []modeltest.Turn{{}}
			var awake []func()
			for n, name := range []string{"clean", "dirty"} {
				calls = append(calls, modeltest.Call("task", fmt.Sprintf(`{"description":"be %[1]s","prompt":"be %[1]s now","worktree":true%[2]s}`, name, map[bool]string{true: `,"background":true`}[n == 0])))
				command := map[string]string{"clean": "cat a", "dirty": "echo 2 > b"}[name]
				if tt.signal != nil {
					command += fmt.Sprintf("; echo awake > %s/%s; sleep 300", p.work, name)
					awake = append(awake, p.fifo(name))
				}
				turns = append(turns, modeltest.Reply(modeltest.Call("shell", fmt.Sprintf(`{"command":%q}`, command))).For("be "+name+" now"))
				if tt.signal == nil {
					turns = append(turns, modeltest.Say("I was "+name).For("be "+name+" now"))
				}
			}
			turns[0] = modeltest.Reply(calls...)
			server := modeltest.NewServer(t, modeltest.Script(turns...))
			if tt.signal == nil {
				server.Then(modeltest.Say("All right."))
				server.Then(modeltest.Say("All right."))
			}
			run := p.run(server, "--session", "s", "go")
			started(t, run)
			for _, wait := range awake {
				wait()
			}
			if tt.signal != nil {
				if got := git("worktree", "list"); strings.Count(got, "\n") != 3 || strings.Count(got, "locked") != 2 {
					t.Errorf("worktrees:\n%s", got)
				}
				signalled(t, run, tt.signal)
			}
			exited(t, run, tt.exit)
			server.Then(modeltest.Say("All right."))
			again := p.run(server, "--resume", "s", "and now?")
			started(t, again)
			exited(t, again, 0)
			state, err := journal.Load(p.data, "s")
			if err != nil || len(state.Children) != 2 {
				t.Fatalf("%v: %d children", err, len(state.Children))
			}
			for _, c := range state.Children {
				p.worktree(t, c, c.Title == "be dirty", tt.signal != os.Interrupt)
			}
			if got := p.says("sessions", "list"); strings.Count(got, "(git worktree, removed)") != 1 || strings.Count(got, "(git worktree "+p.data) != 1 {
				t.Errorf("sessions:\n%s", got)
			}
			if got := git("worktree", "list"); strings.Count(got, "\n") != 2 || strings.Contains(got, "locked") {
				t.Errorf("worktrees:\n%s", got)
			}
			if got := strings.Fields(git("branch", "--format=%(refname:short)")); len(got) != 2 {
				t.Errorf("branches: %q", got)
			}
		})
	}
}

// repository makes the working directory a repository with a commit, and returns a function that
// runs git in it.
func (p *place) repository(t *testing.T) func(args ...string) string {
	t.Helper()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.com"}, args...)...)
		cmd.Dir = p.work
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if err := os.WriteFile(filepath.Join(p.work, "a"), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("init", "-q", "-b", "main")
	git("add", "a")
	git("commit", "-q", "-m", "first")
	return git
}

// worktree checks the outcome of a child's worktree.
func (p *place) worktree(t *testing.T, c *event.Child, kept, recorded bool) {
	t.Helper()
	if c.Worktree == nil {
		t.Fatalf("child %s has no worktree", c.Child)
	}
	_, err := os.Lstat(c.Worktree.Path)
	if (err == nil) != kept {
		t.Errorf("the worktree of %s: %v", c.Title, err)
	}
	if left := c.Ended.Worktree; (left != nil) != recorded || left != nil && left.Kept != kept {
		t.Errorf("the worktree of %s: %+v", c.Title, left)
	}
	want := map[bool]string{true: "kept", false: "removed"}[kept]
	if got := p.says("sessions", "show", "s"); !strings.Contains(got, "git worktree "+c.Worktree.Path+": "+want) {
		t.Errorf("there is no %q of %s in:\n%s", want, c.Worktree.Path, got)
	}
}

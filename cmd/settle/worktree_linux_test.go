//go:build machine

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/modeltest"
)

// A session works in a worktree of its own. Its end reports the state of the worktree, also after
// settle was killed and the session is opened again.
func TestRunWorktree(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	git := p.repository(t)
	shell := func(command string) modeltest.Turn {
		return modeltest.Reply(modeltest.Call("shell", fmt.Sprintf(`{"command":%q}`, command)))
	}
	server := modeltest.NewServer(t, modeltest.Script(shell("cat a"), modeltest.Say("Looked.")))
	run := p.run(server, "--session", "clean", "--worktree", "look")
	started(t, run)
	exited(t, run, 0)
	if got := git("worktree", "list"); strings.Count(got, "\n") != 1 {
		t.Errorf("an unchanged worktree is kept:\n%s", got)
	}

	server.Then(shell("echo 2 > b; echo up > " + filepath.Join(p.work, "up") + "; sleep 300"))
	up := p.fifo("up")
	run = p.run(server, "--session", "dirty", "--worktree=feat", "write")
	started(t, run)
	up()
	signalled(t, run, syscall.SIGKILL)
	exited(t, run, -1)
	if got := p.says("sessions", "list"); strings.Count(got, "(git worktree "+p.data) != 1 {
		t.Errorf("what was left is not named:\n%s", got)
	}

	server.Then(modeltest.Say("Done."))
	again := p.run(server, "--last", "go on")
	started(t, again)
	exited(t, again, 0)
	if _, err := os.Stat(filepath.Join(p.work, "b")); err == nil {
		t.Error("the command wrote outside of the worktree")
	}
	var closed struct {
		Data struct {
			Worktree struct {
				Kept bool   `json:"kept"`
				Why  string `json:"why"`
			} `json:"worktree"`
		} `json:"data"`
	}
	lines := strings.Split(strings.TrimSpace(p.says("sessions", "export", "dirty")), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &closed); err != nil {
		t.Fatal(err)
	}
	if w := closed.Data.Worktree; !w.Kept || w.Why != "1 file changed" {
		t.Errorf("session.closed: %+v", closed)
	}
	if got := git("worktree", "list"); strings.Count(got, "\n") != 2 || strings.Contains(got, "locked") ||
		!strings.Contains(got, "[settle/feat]") {
		t.Errorf("worktrees:\n%s", got)
	}
}

// A detached host that is ended has no terminal: its log names the worktree that is kept.
func TestDetachedHostLogsWorktree(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repository(t)
	up := p.fifo("up")
	server := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(modeltest.Call(
		"shell", fmt.Sprintf(`{"command":"echo 2 > b; echo up > %s; sleep 300"}`, filepath.Join(p.work, "up")),
	))))
	run := p.run(server, "--session", "d", "--worktree=feat", "--detach", "go")
	started(t, run)
	exited(t, run, 0)
	up()
	pid := p.hostOf("d")
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ends(t, pid)
	log, err := os.ReadFile(filepath.Join(p.data, "log", "settle.log"))
	if err != nil || !strings.Contains(string(log), "merge settle/feat") || !strings.Contains(string(log), "worktrees/d") {
		t.Errorf("%v; the log says\n%s", err, log)
	}
}

// A held call of a session in a git worktree is approved although the worktree is gone.
func TestHeldCallIsApprovedInRemovedWorktree(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.repository(t)
	server := modeltest.NewServer(t, modeltest.Script(appends(""), modeltest.Say("It is done.")))
	run := p.run(server, "--session", "d", "--worktree", "--detach", "--permission", "ask", "--sandbox", "off", "go")
	started(t, run)
	exited(t, run, 0)
	pid := p.hostOf("d")
	if pid == 0 {
		t.Fatal("no process hosts the session")
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	look, late := time.NewTicker(5*time.Millisecond), time.After(patience)
	defer look.Stop()
	for {
		state, err := journal.Load(p.data, "d")
		if err == nil && len(state.Turns) == 1 && len(state.Turns[0].Approvals) == 1 {
			break
		}
		select {
		case <-look.C:
		case <-late:
			t.Fatal("the call does not ask")
		}
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ends(t, pid)
	if err := os.RemoveAll(filepath.Join(p.data, "worktrees", "d")); err != nil {
		t.Fatal(err)
	}
	var held struct{ ID string }
	if err := json.Unmarshal([]byte(p.says("approvals", "--json")), &held); err != nil {
		t.Fatal(err)
	}
	out, errs := p.approves(0, "approve", held.ID, "--sandbox", "off", "-m", "chat/m", "--base-url", server.OpenAI())
	if !strings.Contains(out, "It is done.") || p.ran() != 0 {
		t.Errorf("it ran %d times outside; %s %s", p.ran(), out, errs)
	}
	if _, err := os.Stat(filepath.Join(p.data, "worktrees", "d", "ran")); err != nil {
		t.Error(err)
	}
}

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

	"github.com/settle-agent/settle/modeltest"
)

// A session works in a worktree of its own. Its end says what became of the worktree, also
// after settle was killed and the session is opened again.
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

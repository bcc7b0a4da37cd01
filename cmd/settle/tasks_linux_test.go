//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/modeltest"
)

// A parent with three children, one of them in the background, each of which runs a command, is
// interrupted or killed. No process is left, every log has its endings, and the session continues,
// with a request that providers accept and that reports the child in the background once.
func TestParentOfThree(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		signal os.Signal
		exit   int
		reason event.Reason
	}{{"interrupted", os.Interrupt, 130, event.Parent}, {"killed", syscall.SIGKILL, -1, event.Crashed}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			word := "of-" + filepath.Base(filepath.Dir(filepath.Dir(p.work))) // in no other command line
			names := []string{"alpha", "beta", "gamma"}
			var calls []modeltest.Item
			turns := []modeltest.Turn{{}}
			var awake []func()
			for n, name := range names {
				args := fmt.Sprintf(
					`{"description":"run %[1]s","prompt":"work on %[1]s"%[2]s}`, name,
					map[bool]string{true: `,"background":true`}[n == 0],
				)
				calls = append(calls, modeltest.Call("task", args))
				turns = append(
					turns,
					modeltest.Reply(modeltest.Call("shell", fmt.Sprintf(`{"command":"echo awake > %s; sleep 300; : %s"}`, name, word))).
						For("work on "+name),
				)
				awake = append(awake, p.fifo(name))
			}
			turns[0] = modeltest.Reply(calls...)
			server := modeltest.NewServer(t, modeltest.Script(turns...))
			run := p.run(server, "--session", "s", "go")
			started(t, run)
			for _, wait := range awake {
				wait()
			}
			signalled(t, run, tt.signal)
			exited(t, run, tt.exit)
			if tt.exit < 0 {
				p.unlocked() // by supervisors: they run until the commands' processes are gone
				if got := p.says("sessions", "list"); strings.Contains(got, "running") ||
					strings.Count(got, "└ ") != 3 {
					t.Errorf("sessions:\n%s", got)
				}
			}
			server.Then(modeltest.Say("All right."))
			again := p.run(server, "--resume", "s", "and now?")
			started(t, again)
			exited(t, again, 0)
			awaitNoProcess(t, word)
			p.family3(t, "s", tt.reason)
			if refused := server.Refusals(); len(refused) > 0 {
				t.Errorf("the provider refused: %q", refused)
			}
			exchanges := server.Exchanges()
			if body := string(exchanges[len(exchanges)-1].Request.Body); strings.Count(
				body, "(run alpha) did not finish",
			) != 1 {
				t.Errorf("the model is not told of the child in the background: %s", body)
			}
		})
	}
}

// unlocked waits until no process holds a session.
func (p *place) unlocked() {
	p.t.Helper()
	logs, err := filepath.Glob(filepath.Join(p.data, "sessions", "*.log"))
	if err != nil || len(logs) == 0 {
		p.t.Fatal(logs, err)
	}
	for _, path := range logs {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			p.t.Fatal(err)
		}
		if err := errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_EX), f.Close()); err != nil {
			p.t.Fatal(err)
		}
	}
}

// family3 checks the logs of a parent and its three children.
func (p *place) family3(t *testing.T, session string, reason event.Reason) {
	t.Helper()
	if err := contract.Check(p.log(session)); err != nil {
		t.Error(err)
	}
	state, err := journal.Load(p.data, session)
	if err != nil || len(state.Children) != 3 {
		t.Fatalf("%v: %d children", err, len(state.Children))
	}
	told := 0
	for _, c := range state.Children {
		if c.Ended == nil || c.Ended.Outcome != event.Aborted || c.Ended.Cause.Reason != reason {
			t.Errorf("child %s ended as %+v", c.Child, c.Ended)
		}
		if c.Reported {
			told++
		}
		p.says("sessions", "show", c.Session)
		run := p.command(
			"run", "-m", "chat/m", "--base-url", "http://127.0.0.1:9/v1", "--retry-for", "0s", "--retries", "0",
			"--resume", c.Session, "go",
		)
		started(t, run)
		exited(t, run, 1)
		if err := contract.Check(p.log(c.Session)); err != nil {
			t.Errorf("child %s: %v", c.Child, err)
		}
		child, err := journal.Load(p.data, c.Session)
		if err != nil || child.Turns[0].Cause == nil || child.Turns[0].Cause.Reason != reason {
			t.Errorf("child %s: %v, %+v", c.Child, err, child.Turns[0].Cause)
		}
	}
	if told != 1 || len(state.UnreportedChildren()) > 0 {
		t.Errorf("%d ends were told, %d were not", told, len(state.UnreportedChildren()))
	}
}

//go:build unix

package main

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/modeltest"
)

// A killed run continues without a prompt: in a new turn, whose model knows the call that was
// cut. After a turn that completed, there is nothing to continue.
func TestResumeCrashed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	awake := p.fifo("awake")
	s := modeltest.NewServer(t, modeltest.Script(stubborn("awake", "86419"), modeltest.Say("All done.")))
	cmd := p.run(s, "--json", "hello")
	started(t, cmd)
	awake()
	signalled(t, cmd, syscall.SIGKILL)
	_ = cmd.Wait()

	again := p.command("run", "--resume-crashed", "--json")
	var out bytes.Buffer
	again.Stdout = &out
	started(t, again)
	exited(t, again, 0)
	if last := lastEvent(t, out.String()); last.Kind() != event.KindTurnCompleted || last.Turn != "t000002" {
		t.Errorf("the run ended with %+v", last)
	}
	awaitNoProcess(t, "86419")
	requests := s.Exchanges()
	asked := string(requests[len(requests)-1].Body)
	for _, part := range []string{"hello", "The process that ran your last turn died", "unknown"} {
		if !strings.Contains(asked, part) {
			t.Errorf("the model did not receive %q: %s", part, asked)
		}
	}

	session := lastEvent(t, out.String()).Session
	if list := p.says("sessions"); !strings.Contains(list, "hello") || strings.Contains(list, "The process") {
		t.Errorf("the list of sessions: %s", list)
	}
	if shown := p.says("sessions", "show", session); strings.Contains(shown, "> The process") ||
		!strings.Contains(shown, "(settle has the model continue: The process") {
		t.Errorf("the session: %s", shown)
	}

	for args, want := range map[string]string{
		"run --resume-crashed":             `"completed"; to go on, give a prompt: settle run --resume `,
		"run --last --resume-crashed":      `its last turn ended as "completed"`,
		"run --resume-crashed go on":       "--resume-crashed and a prompt: give one of them",
		"run --resume-crashed -i x.go":     "--image and --resume-crashed: give one of them",
		"run --resume no --resume-crashed": "there is no session",
	} {
		refused := p.command(strings.Fields(args)...)
		started(t, refused)
		exited(t, refused, 2)
		if got := stderr(refused); !strings.Contains(got, want) {
			t.Errorf("settle %s: %q, want %q", args, got, want)
		}
	}
	if got := len(s.Exchanges()); got != len(requests) {
		t.Errorf("a refused run sent %d requests", got-len(requests))
	}
}

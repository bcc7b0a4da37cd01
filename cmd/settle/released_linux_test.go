package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/modeltest"
)

// C23: a released job runs on when its host dies, when the session is recovered after that, and
// until it is ended.
func TestReleasedJobOutlivesACrash(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("shell", `{"command":"sleep 95.5; true","background":true,"release":true}`)),
		modeltest.Reply(modeltest.Call("shell", `{"command":"(setsid sleep 95.6 &); echo awake > fifo; sleep 95.6"}`)),
		modeltest.Say("recovered"),
	))
	awake := p.fifo("fifo")
	run := p.run(server, "--session", "s", "go")
	started(t, run)
	awake()
	signalled(t, run, syscall.SIGKILL)
	_ = run.Wait()
	next := p.run(server, "--session", "s", "go on")
	started(t, next)
	exited(t, next, 0)
	if got := p.says("jobs"); !strings.HasPrefix(got, "s/j000001  released  pid ") ||
		len(processes("sleep 95.5")) == 0 {
		t.Errorf("the released job is not there any more: %q", got)
	}
	awaitNoProcess(t, "sleep 95.6")
	if got := p.says("jobs", "kill", "j000001"); !strings.HasPrefix(got, "ended job s/j000001: ") {
		t.Errorf("jobs kill: %q", got)
	}
	awaitNoProcess(t, "sleep 95.5")
	recovered := false
	for _, e := range p.log("s") {
		_, is := e.Data.(event.SessionRecovered)
		recovered = recovered || is
	}
	if !recovered {
		t.Error("the session was not recovered")
	}
}

//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/modeltest"
)

// turnEnds returns the kinds of the terminal events in a log, each with the By of the event.
func turnEnds(all []event.Event) (ends []string) {
	for _, e := range all {
		if e.Terminal() {
			ends = append(ends, strings.TrimSpace(string(e.Kind())+" "+e.By))
		}
	}
	return ends
}

// C23: a process that takes over one session of a server receives this session only, after its
// processes have ended. The server goes on, with its other sessions.
func TestTakeOneSessionOfAServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first, second := p.fifo("first"), p.fifo("second")
	server := modeltest.NewServer(t, modeltest.Script(
		stubborn("first", "86422"), stubborn("second", "86423"), modeltest.Say("mine now"), modeltest.Say("again"),
	))
	v := p.serve(server, "--permission", "allow")
	var ids []string
	for _, awake := range []func(){first, second} {
		ids = append(ids, v.call("POST", "api/sessions", "", 201)["id"].(string))
		v.call("POST", "api/sessions/"+ids[len(ids)-1]+"/inputs", `{"text":"hello"}`, 202)
		awake()
	}
	taker := p.run(server, "--session", ids[0], "--take", "me now")
	started(t, taker)
	exited(t, taker, 0)
	awaitNoProcess(t, "86422")
	if got := strings.Join(turnEnds(p.log(ids[0])), ", "); got != "turn.aborted take, turn.completed" {
		t.Errorf("its turns ended with %s", got)
	}
	if len(processes("86423")) == 0 {
		t.Error("the command of the other session was ended, too")
	}
	// The server opens it again at the next request.
	v.call("POST", "api/sessions/"+ids[0]+"/inputs", `{"text":"back"}`, 202)
	signalled(t, v.cmd, syscall.SIGTERM)
	v.exits(0)
	awaitNoProcess(t, "86423")
	if got := strings.Join(turnEnds(p.log(ids[1])), ", "); got != "turn.aborted signal:SIGTERM" {
		t.Errorf("the other's turns ended with %s", got)
	}
}

// A server that is stopped is not ended for one session of it.
func TestTakeFromAStoppedServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	v := p.serve(modeltest.NewServer(t, modeltest.Script()))
	var ids []string
	for range 2 {
		ids = append(ids, v.call("POST", "api/sessions", "", 201)["id"].(string))
	}
	signalled(t, v.cmd, syscall.SIGSTOP)
	awaitStopped(t, v.cmd.Process.Pid)
	taker := p.run(modeltest.NewServer(t, modeltest.Script()), "--session", ids[0], "--take", "me now")
	started(t, taker)
	exited(t, taker, 2)
	if said := stderr(taker); !strings.Contains(said, `would end with session "`+ids[1]+`"; nothing was signalled`) {
		t.Errorf("it said %s", said)
	}
	signalled(t, v.cmd, syscall.SIGCONT)
	for _, id := range ids {
		v.call("GET", "api/sessions/"+id, "", 200)
	}
	signalled(t, v.cmd, syscall.SIGTERM)
	v.exits(0)
}

// A run whose session is taken over says so.
func TestTakeFromARun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	awake := p.fifo("awake")
	server := modeltest.NewServer(t, modeltest.Script(stubborn("awake", "86424"), modeltest.Say("mine now")))
	holder := p.run(server, "--session", "s", "go")
	started(t, holder)
	awake()
	taker := p.run(server, "--session", "s", "--take", "me now")
	started(t, taker)
	exited(t, taker, 0)
	exited(t, holder, 1)
	awaitNoProcess(t, "86424")
	if got := strings.Join(turnEnds(p.log("s")), ", "); got != "turn.aborted take, turn.completed" {
		t.Errorf("its turns ended with %s", got)
	}
	if said := stderr(holder); !strings.Contains(said, "another process took the session over") {
		t.Errorf("it said %s", said)
	}
}

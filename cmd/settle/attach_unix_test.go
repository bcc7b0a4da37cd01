//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/modeltest"
)

// hosting starts a server with a session.
func (p *place) hosting(s *modeltest.Server, args ...string) (v *served, session string) {
	p.t.Helper()
	v = p.serve(s, args...)
	return v, v.call("POST", "api/sessions", "", 201)["id"].(string)
}

func (v *served) send(session, text string) {
	v.t.Helper()
	v.call("POST", "api/sessions/"+session+"/inputs", `{"text":"`+text+`"}`, 202)
}

// redraws waits until the terminal has been sent a text twice.
func (s *screenshot) redraws(t *testing.T, text string) {
	t.Helper()
	look, late := time.NewTicker(5*time.Millisecond), time.After(patience)
	defer look.Stop()
	for strings.Count(s.String(), text) < 2 {
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("%q is not drawn again:\n%q", text, s.String())
		}
	}
}

// controlSockets are the sockets in the data directory.
func (p *place) controlSockets() int {
	p.t.Helper()
	left, err := os.ReadDir(filepath.Join(p.data, "hosts"))
	if err != nil {
		p.t.Fatal(err)
	}
	return len(left)
}

// A terminal attaches to a session that a server hosts: it can answer a question of the session,
// the server's client sees the answer, and leaving ends nothing.
func TestAttachedAnswer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			modeltest.Call("write", `{"path":"a","content":"x\n"}`),
		),
		modeltest.Say("It is written."),
		modeltest.Say("And more."),
	))
	v, id := p.hosting(server)
	stream := v.open("GET", "api/sessions/"+id+"/events", "", 0)
	v.send(id, "write it")
	cmd, keys, shot, _ := openTerminal(t, p, "resume", "--plain", id)
	shot.shows(t, fmt.Sprintf("Attached to pid %d (serve)", v.cmd.Process.Pid))
	shot.shows(t, "1 allow once (y).")
	typed(t, keys, "1\n")
	shot.shows(t, "It is written.")
	typed(t, keys, "more\n")
	shot.shows(t, "And more.")
	typed(t, keys, "/quit\n")
	exited(t, cmd, 0)
	ends, approval := 0, ""
	for _, e := range v.read(stream, func(e event.Event) bool {
		if e.Terminal() {
			ends++
		}
		return ends == 2
	}) {
		if d, ok := e.Data.(event.ApprovalEnded); ok {
			approval = d.Approval
			if d.Verdict != event.Approved {
				t.Errorf("the server's client was told %+v", d)
			}
		}
	}
	v.call("POST", "api/sessions/"+id+"/approvals/"+approval, `{"verdict":"denied"}`, 409)
	if _, err := os.Stat(filepath.Join(p.work, "a")); err != nil {
		t.Error(err)
	}
	signalled(t, v.cmd, syscall.SIGTERM)
	v.exits(0)
	p.log(id)
	if n := p.controlSockets(); n > 0 {
		t.Errorf("%d sockets are left", n)
	}
}

// A question that another client has answered is withdrawn here.
func TestAttachedQuestionIsWithdrawn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("write", `{"path":"a","content":"x\n"}`)), modeltest.Say("It is not written.")))
	v, id := p.hosting(server)
	v.send(id, "write it")
	cmd, keys, shot, _ := openTerminal(t, p, "resume", id)
	shot.shows(t, "1 allow once")
	approval := ""
	for _, e := range v.follow("api/sessions/"+id, 0, func(e event.Event) bool { return e.Kind() == event.KindApprovalRequested }) {
		if d, ok := e.Data.(event.ApprovalRequested); ok {
			approval = d.Approval
		}
	}
	v.call("POST", "api/sessions/"+id+"/approvals/"+approval, `{"verdict":"denied"}`, 204)
	shot.shows(t, "It is not written.")
	typed(t, keys, "\x04")
	exited(t, cmd, 0)
	shot.shows(t, "the session continues in pid")
	signalled(t, v.cmd, syscall.SIGTERM)
	v.exits(0)
	p.log(id)
}

// Esc in the attached terminal ends the turn of the host, with its processes.
func TestAttachedInterrupt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	awake := p.fifo("fifo")
	v, id := p.hosting(modeltest.NewServer(t, modeltest.Script(stubborn("fifo", "86431"))), "--permission", "allow")
	v.send(id, "sleep")
	awake()
	cmd, keys, shot, _ := openTerminal(t, p, "resume", id)
	shot.shows(t, "working")
	shot.redraws(t, "sleep 86431; sleep 86431") // so that the first frame is on the screen, which the key means
	typed(t, keys, "\x1b")
	shot.shows(t, "interrupted after")
	awaitNoProcess(t, "86431")
	typed(t, keys, "\x04")
	exited(t, cmd, 0)
	signalled(t, v.cmd, syscall.SIGTERM)
	v.exits(0)
	if got := strings.Join(turnEnds(p.log(id)), ", "); got != "turn.aborted user" {
		t.Errorf("its turns ended with %s", got)
	}
}

// A host is killed in the middle of an answer: the earlier part of the answer is on the screen, and
// Enter continues the session here.
func TestAttachedHostIsKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	release := make(chan struct{})
	defer close(release)
	server := modeltest.NewServer(t, modeltest.Script(
		modeltest.Say("one two three four").
			With(modeltest.Hold(modeltest.AfterDelta(2), release)),
		modeltest.Say("Here I am."),
	))
	v, id := p.hosting(server)
	v.send(id, "count")
	cmd, keys, shot, _ := openTerminal(t, p, "resume", "-m", "chat/m", "--base-url", server.OpenAI(), id)
	shot.shows(t, "attached to pid")
	shot.shows(t, "one ")
	if err := v.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	shot.shows(t, "has ended without closing the session")
	typed(t, keys, "go on") // the editor keeps it
	typed(t, keys, "\r")
	shot.shows(t, "the process that last used this session was killed")
	typed(t, keys, "\r")
	shot.shows(t, "Here I am.")
	shot.shows(t, "✓ ")
	typed(t, keys, "\x04")
	exited(t, cmd, 0)
	<-v.done
	_ = v.cmd.Wait() // it was killed
	if got := strings.Join(turnEnds(p.log(id)), ", "); got != "turn.aborted host, turn.completed" {
		t.Errorf("its turns ended with %s", got)
	}
	if n := p.controlSockets(); n > 0 {
		t.Errorf("%d sockets are left", n)
	}
}

// A stopped host does not delay the terminal. A request to it is executed when it continues, once.
func TestAttachedHostIsStopped(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	v, id := p.hosting(modeltest.NewServer(t, modeltest.Script(modeltest.Say("I slept."))))
	cmd, keys, shot, _ := openTerminal(t, p, "resume", id)
	shot.shows(t, "attached to pid")
	signalled(t, v.cmd, syscall.SIGSTOP)
	awaitStopped(t, v.cmd.Process.Pid)
	typed(t, keys, "wake up\r")
	shot.shows(t, "is stopped; it does what it was asked for")
	signalled(t, v.cmd, syscall.SIGCONT)
	shot.shows(t, "I slept.")
	shot.shows(t, "✓ ")
	typed(t, keys, "\x03\x04") // the input has come back into the editor
	exited(t, cmd, 0)
	signalled(t, v.cmd, syscall.SIGTERM)
	v.exits(0)
	if got := strings.Join(turnEnds(p.log(id)), ", "); got != "turn.completed" {
		t.Errorf("its turns ended with %s", got)
	}
}

// Two terminals have one session: the second one attaches to the first.
func TestAttachedToATerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(modeltest.Say("First answer."), modeltest.Say("Second answer.")))
	host, its, hosts, _ := openTerminal(t, p, "-m", "chat/m", "--base-url", server.OpenAI(), "say it")
	hosts.shows(t, "First answer.")
	hosts.shows(t, "✓ ")
	cmd, keys, shot, _ := openTerminal(t, p, "resume")
	shot.shows(t, "First answer.")
	shot.shows(t, fmt.Sprintf("attached to pid %d (terminal)", host.Process.Pid))
	where := fmt.Sprintf("open in pid %d (terminal)", host.Process.Pid)
	if list, err := p.command("sessions").Output(); err != nil || !strings.Contains(string(list), "completed, "+where) {
		t.Errorf("%v; the sessions are\n%s", err, list)
	}
	run := p.run(server, "--last", "me too")
	started(t, run)
	exited(t, run, 2)
	if said := stderr(run); !strings.Contains(said, `attach to it with "settle resume `) {
		t.Errorf("it said %s", said)
	}
	typed(t, keys, "say more\r")
	hosts.shows(t, "Second answer.")
	shot.shows(t, "Second answer.")
	typed(t, keys, "/permissions allow\r")
	shot.shows(t, "only the host can choose it")
	typed(t, keys, "\x1b[Z") // Shift-Tab
	shot.shows(t, "from the next call on: plan")
	typed(t, keys, "\x1b[Z")
	shot.shows(t, `permits more than "plan"; only the host can choose it`)
	typed(t, keys, "/model chat/other\r")
	shot.shows(t, "from the next turn on: chat/other")
	typed(t, its, "\x0c")  // Ctrl-L
	hosts.shows(t, "plan") // a long directory leaves no room for the model
	typed(t, its, "\x04")
	exited(t, host, 0)
	shot.shows(t, "has closed the session")
	typed(t, keys, "\x04")
	exited(t, cmd, 0)
	if n := p.controlSockets(); n > 0 {
		t.Errorf("%d sockets are left", n)
	}
}

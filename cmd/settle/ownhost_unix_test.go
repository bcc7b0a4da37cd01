//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/modeltest"
)

// ownHosts has the terminal start a host process for each session.
func (p *place) ownHosts() *place {
	p.configure("[terminal]\nhost = \"own\"\n")
	return p
}

// inBothHosts runs a test of the terminal with each process that can host its sessions.
func inBothHosts(t *testing.T, test func(t *testing.T, p *place)) {
	t.Helper()
	t.Run("inside", func(t *testing.T) {
		t.Parallel()
		test(t, newPlace(t))
	})
	t.Run("own", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t).ownHosts()
		test(t, p)
		if n := p.controlSockets(); n > 0 {
			t.Errorf("%d sockets are left", n)
		}
		if left, _ := filepath.Glob(filepath.Join(p.data, "log", "detached-*")); len(left) != 0 {
			t.Errorf("files are left: %q", left)
		}
	})
}

// session returns the only session and the process that hosts it; the process is killed at the
// end of the test.
func (p *place) session() (id string, host int) {
	p.t.Helper()
	all, err := journal.List(p.data)
	if err != nil || len(all) != 1 {
		p.t.Fatalf("%v; %d sessions", err, len(all))
	}
	state, err := journal.Load(p.data, all[0].Session)
	if err != nil {
		p.t.Fatal(err)
	}
	host = state.Host.PID
	p.t.Cleanup(func() { _ = syscall.Kill(host, syscall.SIGKILL) })
	return all[0].Session, host
}

// holding is a server whose first answer waits for release.
func holding(t *testing.T, rest ...modeltest.Turn) (server *modeltest.Server, release func()) {
	t.Helper()
	hold := make(chan struct{})
	first := modeltest.Say("one two three four").With(modeltest.Hold(modeltest.AfterDelta(2), hold))
	server = modeltest.NewServer(t, modeltest.Script(slices.Concat([]modeltest.Turn{first}, rest)...))
	return server, func() { close(hold) }
}

// After /detach, the turn goes on without the terminal: nothing restarts, and no event is lost.
func TestDetachLeavesTurnRunning(t *testing.T) {
	t.Parallel()
	p := newPlace(t).ownHosts()
	server, release := holding(t, modeltest.Say("Here I am."))
	cmd, keys, shot, _ := openTerminal(t, p, "-m", "chat/m", "--base-url", server.OpenAI(), "count it")
	shot.shows(t, "one ")
	id, host := p.session()
	if host == cmd.Process.Pid {
		t.Fatal("the terminal hosts the session itself")
	}
	typed(t, keys, "/detach\r")
	exited(t, cmd, 0)
	shot.shows(t, fmt.Sprintf("the session continues in pid %d (terminal)", host))
	if list := p.says("sessions"); !strings.Contains(list, fmt.Sprintf("open in pid %d", host)) {
		t.Errorf("the sessions are\n%s", list)
	}
	cmd, keys, shot, _ = openTerminal(t, p, "attach")
	shot.shows(t, "attached to pid")
	release()
	shot.shows(t, "four")
	shot.shows(t, "✓ ")
	typed(t, keys, "go on\r")
	shot.shows(t, "Here I am.")
	typed(t, keys, "/permissions allow\r")
	shot.shows(t, "only the host can choose it")
	typed(t, keys, "/detach\r") // from another terminal's host: as /quit
	exited(t, cmd, 0)
	if err := syscall.Kill(host, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ends(t, host)
	if got := strings.Join(turnEnds(p.log(id)), ", "); got != "turn.completed, turn.completed" {
		t.Errorf("its turns ended with %s", got)
	}
	if n := strings.Count(fmt.Sprint(opened(p.log(id))), "terminal"); n != 1 {
		t.Errorf("the session was opened %d times", n)
	}
}

// After /detach, an idle host ends as the host of a detached run does.
func TestDetachedTerminalsHostEndsWhenIdle(t *testing.T) {
	t.Parallel()
	p := newPlace(t).ownHosts()
	server := modeltest.NewServer(t, modeltest.Script(modeltest.Say("Hello.")))
	flags := []string{"-m", "chat/m", "--base-url", server.OpenAI(), "--" + idleFlag + "=1s"}
	cmd, keys, shot, _ := openTerminal(t, p, append(flags, "hello there")...)
	shot.shows(t, "Hello.")
	shot.shows(t, "✓ ")
	id, host := p.session()
	typed(t, keys, "/detach\r")
	exited(t, cmd, 0)
	ends(t, host)
	said, err := os.ReadFile(filepath.Join(p.data, "log", "settle.log"))
	if err != nil || !strings.Contains(string(said), "idle for 1s") || !strings.Contains(string(said), id) {
		t.Errorf("%v; the log says\n%s", err, said)
	}
}

// opened are the hosts that have opened a session.
func opened(log []event.Event) (frontends []string) {
	for _, e := range log {
		if d, ok := e.Data.(event.SessionOpened); ok {
			frontends = append(frontends, d.Frontend)
		}
	}
	return frontends
}

// A terminal that is killed is gone without detaching: its host ends the turn and itself.
func TestKilledTerminalEndsItsHost(t *testing.T) {
	t.Parallel()
	p := newPlace(t).ownHosts()
	awake := p.fifo("fifo")
	server := modeltest.NewServer(t, modeltest.Script(stubborn("fifo", "84.25")))
	cmd, _, _, _ := openTerminal(
		t, p, "-m", "chat/m", "--base-url", server.OpenAI(), "--permission", "allow", "sleep now",
	)
	awake()
	id, host := p.session()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	ends(t, host)
	awaitNoProcess(t, "sleep 84.25")
	log := p.log(id)
	if got := strings.Join(turnEnds(log), ", "); got != "turn.aborted terminal" {
		t.Errorf("its turns ended with %s", got)
	}
	state, err := journal.Load(p.data, id)
	if err != nil || state.Open || state.Turns[0].Cause.Reason != event.Shutdown {
		t.Errorf("%v; open: %v, cause %+v", err, state.Open, state.Turns[0].Cause)
	}
	said, err := os.ReadFile(filepath.Join(p.data, "log", "settle.log"))
	words := "gone without detaching"
	if err != nil || !strings.Contains(string(said), words) || !strings.Contains(string(said), id) {
		t.Errorf("%v; the log says\n%s", err, said)
	}
}

// Signals that end the terminal end its host, with the same causes as a session inside.
func TestSignalledTerminalEndsItsHost(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		seconds := fmt.Sprintf("%d.75", 700+int(sig)) // by which the command is known
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t).ownHosts()
			awake := p.fifo("fifo")
			server := modeltest.NewServer(t, modeltest.Script(stubborn("fifo", seconds)))
			cmd, _, shot, _ := openTerminal(
				t, p, "-m", "chat/m", "--base-url", server.OpenAI(), "--permission", "allow",
				"sleep now",
			)
			awake()
			id, host := p.session()
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			exited(t, cmd, want)
			ends(t, host)
			awaitNoProcess(t, "sleep "+seconds)
			shot.shows(t, "settle was shut down")
			shot.givesBack(t)
			by := map[syscall.Signal]string{syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP"}[sig]
			if got := strings.Join(turnEnds(p.log(id)), ", "); got != "turn.aborted signal:"+by {
				t.Errorf("its turns ended with %s", got)
			}
		})
	}
}

// A host is killed: the terminal reports that, shows the stored events, and opens the session again
// in another host. A terminal that leaves instead exits with 1.
func TestKilledHostIsReported(t *testing.T) {
	for _, again := range []bool{true, false} {
		t.Run(fmt.Sprint("again ", again), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t).ownHosts()
			server, release := holding(t, modeltest.Say("Here I am."))
			defer release()
			flags := []string{"-m", "chat/m", "--base-url", server.OpenAI()}
			cmd, keys, shot, _ := openTerminal(t, p, append(flags, "count it")...)
			shot.shows(t, "one ")
			id, host := p.session()
			if err := syscall.Kill(host, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			shot.shows(t, fmt.Sprintf("its host, pid %d (terminal), has ended without", host))
			if !again {
				typed(t, keys, "\x04")
				exited(t, cmd, 1)
				return
			}
			typed(t, keys, "go on") // the editor keeps it
			typed(t, keys, "\r")
			shot.shows(t, "the process that last used this session was killed")
			_, second := p.session()
			if second == host || second == cmd.Process.Pid {
				t.Errorf("pid %d hosts the session now", second)
			}
			typed(t, keys, "\r")
			shot.shows(t, "Here I am.")
			shot.shows(t, "✓ ")
			typed(t, keys, "\x04")
			exited(t, cmd, 0)
			ends(t, second)
			if got := strings.Join(turnEnds(p.log(id)), ", "); got != "turn.aborted host, turn.completed" {
				t.Errorf("its turns ended with %s", got)
			}
		})
	}
}

// Only the host's own terminal can loosen the permission.
func TestOwnTerminalLoosensPermission(t *testing.T) {
	t.Parallel()
	p := newPlace(t).ownHosts()
	server := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("write", `{"path":"a","content":"x\n"}`)),
		modeltest.Say("It is written."),
	))
	cmd, keys, shot, _ := openTerminal(t, p, "-m", "chat/m", "--base-url", server.OpenAI())
	shot.shows(t, "? for shortcuts")
	id, _ := p.session()
	second, its, other, _ := openTerminal(t, p, "resume", id)
	other.shows(t, "attached to pid")
	typed(t, its, "/permissions allow\r")
	other.shows(t, "only the host can choose it")
	typed(t, keys, "/permissions allow\r")
	shot.shows(t, "from the next call on: allows every call")
	typed(t, its, "write it\r")
	other.shows(t, "It is written.")
	typed(t, keys, "\x04")
	exited(t, cmd, 0)
	other.shows(t, "has closed the session")
	typed(t, its, "\x04")
	exited(t, second, 0)
	if _, err := os.Stat(filepath.Join(p.work, "a")); err != nil {
		t.Error(err)
	}
}

// Commands of an own host have the environment and the working directory of the terminal's
// commands, and no terminal.
func TestOwnHostIsPlacedAsTerminal(t *testing.T) {
	t.Parallel()
	inBothHosts(t, func(t *testing.T, p *place) {
		t.Helper()
		p.env = append(p.env, "OF_THE_PERSON=yes")
		server := modeltest.NewServer(t, modeltest.Script(
			modeltest.Reply(modeltest.Call("shell", `{"command":"pwd -P > seen; echo $OF_THE_PERSON >> seen; `+
				`(: < /dev/tty) 2>/dev/null && echo terminal >> seen; true"}`)),
			modeltest.Say("I looked."),
		))
		cmd, keys, shot, _ := openTerminal(
			t, p, "-m", "chat/m", "--base-url", server.OpenAI(), "--permission", "allow", "look here",
		)
		shot.shows(t, "I looked.")
		typed(t, keys, "\x04")
		exited(t, cmd, 0)
		dir, err := filepath.EvalSymlinks(p.work)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := os.ReadFile(filepath.Join(p.work, "seen"))
		if err != nil || string(seen) != dir+"\nyes\n" {
			t.Errorf("%v; the command saw %q", err, seen)
		}
	})
}

// A host cannot be started: the terminal shows the reason, and hosts the session itself.
func TestHostThatCannotStartIsReplaced(t *testing.T) {
	t.Parallel()
	p := newPlace(t).ownHosts()
	server := modeltest.NewServer(t, modeltest.Script(modeltest.Say("Hello.")))
	if err := os.MkdirAll(p.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.data, "log"), nil, 0o600); err != nil { // no folder
		t.Fatal(err)
	}
	cmd, keys, shot, _ := openTerminal(t, p, "-m", "chat/m", "--base-url", server.OpenAI(), "hello there")
	shot.shows(t, "cannot start a host process")
	shot.shows(t, "Hello.")
	shot.shows(t, "✓ ")
	typed(t, keys, "/detach\r")
	shot.shows(t, "this session runs in the terminal's own process")
	typed(t, keys, "\x04")
	exited(t, cmd, 0)
}

// A suspended terminal does not hold up its host's turn.
func TestOwnHostWorksWhileTerminalIsStopped(t *testing.T) {
	t.Parallel()
	p := newPlace(t).ownHosts()
	server, release := holding(t)
	cmd, keys, shot, _ := openTerminal(t, p, "-m", "chat/m", "--base-url", server.OpenAI(), "count it")
	shot.shows(t, "one ")
	id, _ := p.session()
	signalled(t, cmd, syscall.SIGSTOP)
	awaitStopped(t, cmd.Process.Pid)
	release()
	look, late := time.NewTicker(5*time.Millisecond), time.After(patience)
	defer look.Stop()
	for {
		state, err := journal.Load(p.data, id)
		if err != nil {
			t.Fatal(err)
		}
		if state.Running() == nil {
			break
		}
		select {
		case <-look.C:
		case <-late:
			t.Fatal("the turn does not end")
		}
	}
	signalled(t, cmd, syscall.SIGCONT)
	shot.shows(t, "four")
	shot.shows(t, "✓ ")
	typed(t, keys, "\x04")
	exited(t, cmd, 0)
}

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/modeltest"
)

// log returns the events of a session, which must be as the contract promises.
func (p *place) log(session string) []event.Event {
	p.t.Helper()
	out, err := p.command("sessions", "export", session).Output()
	if err != nil {
		p.t.Fatal(err)
	}
	var events []event.Event
	for line := range bytes.Lines(out) {
		var e event.Event
		if err := e.UnmarshalJSON(line); err != nil {
			p.t.Fatal(err)
		}
		events = append(events, e)
	}
	if err := contract.Check(events); err != nil {
		p.t.Error(err)
	}
	return events
}

// streaming starts the command and waits until it has shown a delta; the returned function waits
// for its end and returns its last event.
func streaming(t *testing.T, cmd *exec.Cmd) (end func(code int) event.Event) {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started(t, cmd)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	var last string
	for !strings.Contains(last, `"kind":"item.delta"`) {
		if !lines.Scan() {
			t.Fatalf("it showed no delta: %v; stderr: %s", lines.Err(), cmd.Stderr)
		}
		last = lines.Text()
	}
	return func(code int) event.Event {
		t.Helper()
		for lines.Scan() {
			last = lines.Text()
		}
		exited(t, cmd, code)
		return lastEvent(t, last)
	}
}

// A laptop that sleeps stops everything, and the provider does not wait. A running stream is tried
// again or fails visibly, within its budget.
func TestStoppedWhileTheConnectionDies(t *testing.T) {
	const stall = time.Second
	words := modeltest.Say("one two three four five six seven eight nine ten")
	tests := map[string]struct {
		faults    []modeltest.Fault // after the fault that holds the turn
		flags     []string
		meanwhile func(s *modeltest.Server)
		pause     time.Duration // at least, while it is stopped
		code      int
		attempts  []int // how many there may be
	}{
		"reset": {faults: []modeltest.Fault{modeltest.Reset(modeltest.AfterDelta(2))}, attempts: []int{2}},
		"cut":   {faults: []modeltest.Fault{modeltest.Cut(modeltest.AfterDelta(2))}, attempts: []int{2}},
		"silent": {
			faults:   []modeltest.Fault{modeltest.Silence(modeltest.AfterDelta(2))},
			flags:    []string{"--stall-timeout", stall.String()},
			pause:    2 * stall,
			attempts: []int{2},
		},
		"answered": {attempts: []int{1}},
		"answered, late": {
			flags:    []string{"--stall-timeout", stall.String()},
			pause:    2 * stall,
			attempts: []int{1, 2},
		},
		"server gone": {
			flags:     []string{"--retries", "1"},
			meanwhile: func(s *modeltest.Server) { _ = s.Close() },
			code:      1,
			attempts:  []int{2},
		},
		"interrupted too": {
			faults:   []modeltest.Fault{modeltest.Reset(modeltest.AfterDelta(2))},
			code:     130,
			attempts: []int{1, 2},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			release := make(chan struct{})
			held := words.With(
				append([]modeltest.Fault{modeltest.Hold(modeltest.AfterDelta(2), release)}, tt.faults...)...)
			server := modeltest.NewServer(t, modeltest.Script(held, words))
			cmd := p.run(server, append([]string{"--session", "s", "--json=deltas", "go"}, tt.flags...)...)
			end := streaming(t, cmd)
			signalled(t, cmd, syscall.SIGSTOP)
			awaitStopped(t, cmd.Process.Pid)
			if tt.meanwhile != nil {
				tt.meanwhile(server)
			}
			close(release)
			if tt.pause > 0 {
				<-time.After(tt.pause) // that the process sleeps through
			}
			if tt.code == 130 {
				signalled(t, cmd, syscall.SIGINT)
			}
			signalled(t, cmd, syscall.SIGCONT)
			last := end(tt.code)
			if !last.Terminal() {
				t.Errorf("its last event is %s", last.Kind())
			}
			attempts := 0
			for _, e := range p.log("s") {
				if _, begins := e.Data.(event.AttemptStarted); begins {
					attempts++
				}
			}
			if least, most := tt.attempts[0], tt.attempts[len(tt.attempts)-1]; attempts < least || attempts > most {
				t.Errorf("%d attempts, want %v", attempts, tt.attempts)
			}
			if refused := server.Refusals(); len(refused) > 0 {
				t.Errorf("refused: %v", refused)
			}
		})
	}
}

// A session whose holder is stopped is not lost: a process that opens it receives the PID of the
// holder, and may end it. A command that ran there is ended as well.
func TestStoppedHolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(stubborn("fifo", "77.5"), modeltest.Say("mine now")))
	awake := p.fifo("fifo")
	holder := p.run(server, "--session", "s", "go")
	holder.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a job of a shell
	started(t, holder)
	awake()
	signalled(t, holder, syscall.SIGTSTP) // as a terminal does
	awaitStopped(t, holder.Process.Pid)
	for _, args := range [][]string{{"run", "-m", "chat/m", "--base-url", server.OpenAI(), "--session", "s", "me too"}, {"sessions", "delete", "s"}} {
		other := p.command(args...)
		started(t, other)
		exited(t, other, map[string]int{"run": 2, "sessions": 1}[args[0]])
		if said := other.Stderr.(*bytes.Buffer).String(); !strings.Contains(
			said, "open in pid "+strconv.Itoa(holder.Process.Pid)+", stopped;",
		) {
			t.Errorf("%s: %s", args[0], said)
		}
	}
	// It can be read meanwhile.
	out, err := p.command("sessions", "check", "s").Output()
	if err != nil || !strings.Contains(string(out), "a turn is running in pid "+strconv.Itoa(holder.Process.Pid)) {
		t.Errorf("%v: %s", err, out)
	}
	taker := p.run(server, "--take", "--session", "s", "me now")
	started(t, taker)
	exited(t, taker, 0)
	_ = holder.Wait() // it was ended, by TERM or by KILL
	awaitNoProcess(t, "sleep 77.5")
	var ends []event.Kind
	for _, e := range p.log("s") {
		if e.Terminal() {
			ends = append(ends, e.Kind())
		}
	}
	if len(ends) != 2 || ends[0] != event.KindTurnAborted || ends[1] != event.KindTurnCompleted {
		t.Errorf("the turns ended with %v", ends)
	}
}

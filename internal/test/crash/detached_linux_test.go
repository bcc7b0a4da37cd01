package crash

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/settle-agent/settle/event"
)

// hostOf returns the process that hosts the session, 0 for none, and whether its turn runs, as
// "settle sessions" says.
func (v *victim) hostOf() (pid int, runs bool, err error) {
	list, err := v.says("sessions", "list", "--json")
	if err != nil {
		return 0, false, err
	}
	for line := range strings.Lines(list) {
		var one struct {
			Session string
			Running bool
			Host    struct {
				PID  int
				Face string
			}
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			return 0, false, err
		}
		if one.Session == "s" {
			return one.Host.PID, one.Running, nil
		}
	}
	return 0, false, fmt.Errorf("the session is not listed: %q", list)
}

// await polls until the condition holds.
func await(what string, holds func() bool) error {
	tick, late := time.NewTicker(5*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			return fmt.Errorf("%s: not within %v", what, patience)
		}
	}
	return nil
}

// screen is a terminal in which settle runs.
type screen struct {
	cmd  *exec.Cmd
	keys *os.File
	done chan struct{}

	mu    sync.Mutex // guards shown
	shown bytes.Buffer
}

// Write implements [io.Writer].
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.Write(p)
}

// shows waits until the terminal has shown a text.
func (s *screen) shows(text string) error {
	err := await("the terminal shows "+text, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return bytes.Contains(s.shown.Bytes(), []byte(text))
	})
	if err != nil {
		err = fmt.Errorf("%w:\n%q", err, s.shown.String())
	}
	return err
}

// attach attaches a terminal to the session.
func (v *victim) attach() (*screen, error) {
	s := &screen{cmd: v.command("attach", "--plain", "s"), done: make(chan struct{})}
	s.cmd.Env = append(s.cmd.Env, "TERM=xterm-256color")
	var err error
	if s.keys, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		return nil, err
	}
	go func() { // ends with the command
		defer close(s.done)
		_, _ = io.Copy(s, s.keys)
	}()
	return s, nil
}

// exits waits for the end of the command in the terminal, which must have the exit code.
func (s *screen) exits(code int) error {
	<-s.done
	_ = s.cmd.Wait() // the exit code says more
	_ = s.keys.Close()
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		return fmt.Errorf("the terminal exits with %d, want %d:\n%q", got, code, s.shown.String())
	}
	return nil
}

// killHost has a detached host killed after so many records of its log, with a terminal
// attached or none.
func (v *victim) killHost(k int, later, latest time.Duration, attached bool) error {
	args := append(append([]string{"run", "--detach", "--session", "s"}, v.model...), "go")
	if id, err := v.says(args...); err != nil || id != "s\n" {
		return fmt.Errorf("cannot detach: %w: %q", err, id)
	}
	pid, _, err := v.hostOf()
	if err != nil || pid == 0 {
		return fmt.Errorf("no process hosts the session: %w", err)
	}
	var terminal *screen
	if attached {
		if terminal, err = v.attach(); err != nil {
			return err
		}
		if err := terminal.shows(fmt.Sprintf("ttached to pid %d (detached)", pid)); err != nil {
			return err
		}
	}
	log := filepath.Join(v.dir, "data", "sessions", "s.log")
	end := time.Now().Add(latest) // it may not get that far: its calls go on for ever
	if err := await("the log", func() bool {
		raw, _ := os.ReadFile(log)
		return bytes.Count(raw, []byte("\n")) >= k || time.Now().After(end)
	}); err != nil {
		return err
	}
	<-time.After(later)
	v.inFlight = len(v.survivors()) - 1 // without the host
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	if terminal == nil {
		return nil
	}
	if err := terminal.shows("has ended without closing the session"); err != nil {
		return err
	}
	if _, err := terminal.keys.WriteString("\x04"); err != nil {
		return err
	}
	return terminal.exits(1)
}

// isLost checks settle's report about a session whose host was killed.
func (v *victim) isLost() error {
	if pid, runs, err := v.hostOf(); err != nil || pid != 0 || runs {
		return fmt.Errorf("a killed host is listed as pid %d, its turn as running (%v): %w", pid, runs, err)
	}
	terminal, err := v.attach()
	if err != nil {
		return err
	}
	if err := terminal.shows("no process hosts it"); err != nil {
		return err
	}
	return terminal.exits(2)
}

// killDetached is one round.
func (s settle) killDetached(t *testing.T, n int, r *rand.Rand) (v *victim, err error) {
	address := fmt.Sprintf("@settle-detached-%d-%d-", os.Getpid(), n)
	v, end, err := s.victim(t, n, r, script(r, address))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	micros := func(n int) time.Duration { return time.Duration(r.IntN(n)) * time.Microsecond }
	if err := v.killHost(r.IntN(100), micros(40_000), micros(800_000), r.IntN(2) == 0); err != nil {
		return v, err
	}
	if r.IntN(2) == 0 { // else it is opened again at once
		if v.cleanup, err = v.awaitGone(); err != nil {
			return v, err
		}
		if err := v.isLost(); err != nil {
			return v, err
		}
	}
	if err := v.goOn(); err != nil {
		return v, err
	}
	if left := v.survivors(); len(left) > 0 {
		return v, fmt.Errorf("the session is open again, and there still are: %v", left)
	}
	events, err := v.events("s")
	if err != nil {
		return v, err
	}
	var ends []string
	for _, e := range events {
		switch d := e.Data.(type) {
		case event.TurnCompleted:
			ends = append(ends, "completed")
		case event.TurnFailed:
			ends = append(ends, "failed")
		case event.TurnAborted:
			ends = append(ends, string(d.Reason))
		}
	}
	if got := strings.Join(ends, ", "); got != "crashed, completed" && got != "completed, completed" {
		return v, fmt.Errorf("the turns ended as %s", got)
	}
	return v, errors.Join(v.examine(), addressesFree(address))
}

// C7, C5, C19 and C20 for a host without a terminal.
func TestKilledDetachedHost(t *testing.T) {
	s := built(t)
	var all tally
	rounds(t, fewKills, func(n int, r *rand.Rand) error {
		v, err := s.killDetached(t, n, r)
		if err == nil {
			all.add(v)
		}
		return err
	})
	t.Log(all.String())
	s.ended(t)
}

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/modeltest"
)

// patience bounds the wait of a test for an event. A test that passes never waits that long.
const patience = 30 * time.Second

// place is the environment in which a test runs settle.
type place struct {
	t    *testing.T
	ctx  context.Context
	work string
	data string
	env  []string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience) // for all that a test runs
	t.Cleanup(cancel)
	dir := t.TempDir()
	p := &place{t: t, ctx: ctx, work: filepath.Join(dir, "work"), data: filepath.Join(dir, "data")}
	if err := os.Mkdir(p.work, 0o755); err != nil {
		t.Fatal(err)
	}
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "SETTLE_DATA_DIR=" + p.data}
	return p
}

// command returns settle with arguments, to be started.
func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.ctx, "settle", args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.work, p.env, time.Second
	return cmd
}

// run returns settle run with the server and the arguments.
func (p *place) run(s *modeltest.Server, args ...string) *exec.Cmd {
	return p.command(append([]string{"run", "-m", "chat/m", "--base-url", s.OpenAI()}, args...)...)
}

// says runs settle and returns its standard output.
func (p *place) says(args ...string) string {
	p.t.Helper()
	cmd := p.command(args...)
	var out bytes.Buffer
	cmd.Stdout = &out
	started(p.t, cmd)
	exited(p.t, cmd, 0)
	return out.String()
}

// fifo makes a named pipe; the returned function waits for the line that a command writes into it.
func (p *place) fifo(name string) (wait func()) {
	p.t.Helper()
	path := filepath.Join(p.work, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		p.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0) // for both, so that it does not wait
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = f.Close() })
	return func() {
		p.t.Helper()
		if err := f.SetReadDeadline(time.Now().Add(patience)); err != nil {
			p.t.Fatal(err)
		}
		if _, err := bufio.NewReader(f).ReadString('\n'); err != nil {
			p.t.Fatalf("the command did not start: %v", err)
		}
	}
}

// exited waits for the end and checks the exit code.
func exited(t *testing.T, cmd *exec.Cmd, want int) {
	t.Helper()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Errorf("exit code %d (%v), want %d; stderr: %s", got, err, want, cmd.Stderr)
	}
}

func started(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if cmd.Stderr == nil {
		cmd.Stderr = &bytes.Buffer{}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

func signalled(t *testing.T, cmd *exec.Cmd, sig os.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// awaitNoProcess checks that no process has the word in its command line.
func awaitNoProcess(t *testing.T, word string) {
	t.Helper()
	if left := processes(word); len(left) > 0 {
		t.Errorf("still running: %s", strings.Join(left, "; "))
	}
}

// lastEvent returns the last line of the output as an event.
func lastEvent(t *testing.T, output string) event.Event {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(output), "\n")
	var e event.Event
	if err := e.UnmarshalJSON([]byte(lines[len(lines)-1])); err != nil {
		t.Fatalf("the last line is no event: %v\n%s", err, output)
	}
	return e
}

// stubborn is a turn with a command that writes to the fifo when it runs, ignores all signals that
// it can, and sleeps for a time that identifies it.
func stubborn(fifo, seconds string) modeltest.Turn {
	return modeltest.Reply(modeltest.Call("shell",
		`{"command":"trap '' TERM INT HUP; echo awake > `+fifo+`; sleep `+seconds+`; sleep `+seconds+`"}`))
}

// awaitStopped waits until a child is stopped.
func awaitStopped(t *testing.T, pid int) {
	t.Helper()
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("%v, status %v", err, status)
	}
}

// configure writes the user's configuration.
func (p *place) configure(text string) {
	p.t.Helper()
	config := filepath.Join(filepath.Dir(p.work), "config") // not where sandboxed commands can write
	dir := filepath.Join(config, "settle")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.env = append(p.env, "XDG_CONFIG_HOME="+config)
}

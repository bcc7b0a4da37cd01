//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/settle-agent/settle/modeltest"
)

// screenshot collects all output to a terminal.
type screenshot struct {
	mu   sync.Mutex
	text bytes.Buffer
	done chan struct{} // closed when the terminal is
	// before is the state of the terminal before a program started, for tests that need it.
	before *term.State
}

func (s *screenshot) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(data)
}

func (s *screenshot) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ReplaceAll(s.text.String(), "\r\n", "\n")
}

// onTerminal starts the command with a terminal for all of its files.
func onTerminal(t *testing.T, cmd *exec.Cmd) *screenshot {
	t.Helper()
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	shot := &screenshot{done: make(chan struct{})}
	go func() { // ends when the terminal is closed, by the test's end at the latest
		defer close(shot.done)
		_, _ = io.Copy(shot, terminal)
	}()
	t.Cleanup(func() { _ = terminal.Close() })
	return shot
}

// ended waits for the command's end and for all of its output.
func ended(t *testing.T, cmd *exec.Cmd, shot *screenshot, want int) string {
	t.Helper()
	exited(t, cmd, want)
	<-shot.done // the terminal ends with the last process that has it open
	return shot.String()
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			modeltest.Text("Let me \x1b]0;owned\x07look."),
			modeltest.Call("shell", `{"command":"echo one; exit 3"}`),
		),
		modeltest.Say("There \x1b[31mit is.").With(modeltest.Status(529, "0.001").First(1)),
	))
	cmd := p.run(server, "look")
	shot := onTerminal(t, cmd)
	got := ended(t, cmd, shot, 0)
	want := "chat/m in " + p.work + "; allows every call (use --permission ask to be asked)\n" + `Let me ␛]0;owned␇look.
→ echo one; exit 3
  echo one; exit 3: exit code 3 after `
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, part := range []string{"attempt 2 in 1 ms: 529 overloaded", "There ␛[31mit is.\n"} {
		if !strings.Contains(got, part) {
			t.Errorf("the terminal does not show %q:\n%s", part, got)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Errorf("control characters got through: %q", got)
	}
}

// Without a prompt, a terminal gets the usage; nothing waits for input.
func TestTerminalWithoutPrompt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	cmd := p.command("run", "-m", "chat/m", "--base-url", "http://127.0.0.1:1/v1")
	shot := onTerminal(t, cmd)
	if got := ended(t, cmd, shot, 2); !strings.Contains(got, "there is no prompt") ||
		!strings.Contains(got, "settle run [flags] [PROMPT") {
		t.Errorf("the terminal shows\n%s", got)
	}
}

// Ctrl-C on a terminal.
func TestTerminalInterrupt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(stubborn("fifo", "91.5")))
	awake := p.fifo("fifo")
	cmd := p.run(server, "go")
	shot := onTerminal(t, cmd)
	awake()
	signalled(t, cmd, syscall.SIGINT)
	got := ended(t, cmd, shot, 130)
	awaitNoProcess(t, "sleep 91.5")
	// The effects are partial, or unknown where the machine is too busy (C9).
	for _, part := range []string{"ending the turn …", "interrupted after", "effects: ", "settle: interrupted by SIGINT", "settle run --resume"} {
		if !strings.Contains(got, part) {
			t.Errorf("the terminal does not show %q:\n%s", part, got)
		}
	}
}

// The terminal goes away.
func TestTerminalHangsUp(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(stubborn("fifo", "92.5")))
	awake := p.fifo("fifo")
	cmd := p.run(server, "--session", "s", "go")
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	awake()
	if err := terminal.Close(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 129 {
		t.Errorf("got %v, want exit code 129", err)
	}
	awaitNoProcess(t, "sleep 92.5")
	out, err := p.command("sessions", "export", "s").Output()
	if err != nil || !strings.Contains(string(out), `"kind":"turn.aborted"`) {
		t.Errorf("%v, export:\n%s", err, out)
	}
}

// --permission ask asks at the terminal: a text other than y, s or n is no answer, the whole
// command is shown, and the closing line lists the denied calls.
func TestTerminalAsks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("shell", `{"command":"touch first\n# and more"}`)),
		modeltest.Reply(modeltest.Call("shell", `{"command":"touch second"}`)),
		modeltest.Say("that was it"),
	))
	cmd := p.run(server, "--permission", "ask", "go")
	cmd.Env = append(cmd.Env, "TERM=xterm", "NO_COLOR=1")
	shot := &screenshot{done: make(chan struct{})}
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	asked := make(chan struct{}, 16)
	go func() { // ends when the terminal is closed
		defer close(shot.done)
		buf := make([]byte, 4096)
		for seen := 0; ; {
			n, err := terminal.Read(buf)
			_, _ = shot.Write(buf[:n])
			for now := strings.Count(shot.String(), "explain the effects"); seen < now; seen++ {
				asked <- struct{}{}
			}
			if err != nil {
				return
			}
		}
	}()
	for _, line := range []string{"perhaps", "Y", "no"} {
		select {
		case <-asked:
		case <-shot.done:
			t.Fatalf("the command ended before all its questions:\n%s", shot)
		}
		if _, err := terminal.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	got := ended(t, cmd, shot, 0)
	flat := strings.Join(strings.Fields(ansi.Strip(got)), " ")
	if !strings.Contains(flat, "asks before changes") {
		t.Errorf("the banner is missing:\n%s", got)
	}
	for _, part := range []string{"touch first", "# and more", "that was it", "completed after", "1 denied", "settle run --resume"} {
		if !strings.Contains(got, part) {
			t.Errorf("the terminal does not show %q:\n%s", part, got)
		}
	}
	if strings.Contains(got, "\x1b[3") {
		t.Errorf("NO_COLOR: %q", got)
	}
	for name, want := range map[string]bool{"first": true, "second": false} {
		if _, err := os.Stat(filepath.Join(p.work, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

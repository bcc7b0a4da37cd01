//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/settle-agent/settle/modeltest"
)

// openTerminal starts settle with a terminal of its own.
func openTerminal(t *testing.T, p *place, args ...string) (*exec.Cmd, io.Writer, *screenshot, func() *term.State) {
	t.Helper()
	cmd := p.command(args...)
	keys, shot, state := startTerminal(t, cmd)
	return cmd, keys, shot, state
}

// startTerminal starts a command with a terminal of its own.
func startTerminal(t *testing.T, cmd *exec.Cmd) (io.Writer, *screenshot, func() *term.State) {
	t.Helper()
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(ptmx, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	before, err := term.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	shot := &screenshot{done: make(chan struct{}), before: before}
	go func() { // ends when the terminal is closed, by the test's end at the latest
		defer close(shot.done)
		_, _ = io.Copy(shot, ptmx)
	}()
	t.Cleanup(func() {
		_ = tty.Close()
		_ = ptmx.Close()
		<-shot.done
	})
	return ptmx, shot, func() *term.State {
		state, err := term.GetState(int(tty.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
}

// shows waits until the terminal has been sent a text.
func (s *screenshot) shows(t *testing.T, text string) {
	t.Helper()
	s.waits(t, text, func(all string) bool {
		return strings.Contains(all, text) || strings.Contains(styles.ReplaceAllString(all, ""), text)
	})
}

// styles are the colors and attributes between the parts of a row.
var styles = regexp.MustCompile("\x1b\\[[0-9;]*m")

// waits waits until the output to the terminal satisfies ok.
func (s *screenshot) waits(t *testing.T, what string, ok func(all string) bool) {
	t.Helper()
	look, late := time.NewTicker(5*time.Millisecond), time.After(patience)
	defer look.Stop()
	for !ok(s.String()) {
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("%q is not on the terminal:\n%q", what, s.String())
		}
	}
}

func typed(t *testing.T, to io.Writer, keys string) {
	t.Helper()
	if _, err := io.WriteString(to, keys); err != nil {
		t.Fatal(err)
	}
}

// givesBack waits until what was switched on at the terminal is switched off again: what a process
// has written before its end can be read after it.
func (s *screenshot) givesBack(t *testing.T) {
	t.Helper()
	for on, off := range map[string]string{
		"\x1b[?2004h": "\x1b[?2004l", "\x1b[?1004h": "\x1b[?1004l", "\x1b[>1u": "\x1b[<u",
		"\x1b[?25l": "\x1b[?25h", "\x1b[?7l": "\x1b[?7h", "\x1b[?2026h": "\x1b[?2026l", "\x1b[?1049h": "\x1b[?1049l",
	} {
		s.waits(t, off, func(all string) bool { return strings.LastIndex(all, on) <= strings.LastIndex(all, off) })
	}
}

// A session at the terminal: a prompt, its answer, the end; then once more, where
// the session goes on and the prompt is remembered. The terminal is as it was.
func TestTUI(t *testing.T) {
	t.Parallel()
	inBothHosts(t, func(t *testing.T, p *place) {
		t.Helper()
		server := modeltest.NewServer(
			t, modeltest.Script(modeltest.Say("Hello \x1b]0;owned\x07there."), modeltest.Say("Again.")),
		)
		flags := []string{"-m", "chat/m", "--base-url", server.OpenAI()}
		cmd, keys, shot, state := openTerminal(t, p, append(flags, "say hello")...)
		shot.shows(t, "Hello ␛]0;owned␇there.")
		shot.shows(t, "✓ ")
		typed(t, keys, "\x04")
		exited(t, cmd, 0)
		shot.shows(t, "settle resume ")
		if got := shot.String(); strings.Contains(got, "\x1b]0;") || strings.Contains(got, "\x1b[3J") ||
			strings.Contains(got, "\x1b[?1049h") {
			t.Errorf("the terminal was sent what it must not be sent: %q", got)
		}
		want := state()

		cmd, keys, shot, state = openTerminal(t, p, append([]string{"resume", "--last"}, flags...)...)
		shot.shows(t, "Hello ␛]0;owned␇there.")
		typed(t, keys, "\x1b[A") // the prompt of before
		shot.shows(t, "> \x1b[0msay hello")
		typed(t, keys, "\r")
		shot.waits(t, "the end of the turn", func(all string) bool { // until then, Ctrl-C interrupts it
			_, after, said := strings.Cut(all, "Again.")
			return said && strings.Contains(after, "✓ ")
		})
		typed(t, keys, "\x03\x03")
		exited(t, cmd, 0)
		if got := state(); *got != *want {
			t.Errorf("the terminal is %+v, before %+v", got, want)
		}
	})
}

// Signals end the running work, and restore the terminal.
func TestTUISignals(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		seconds := fmt.Sprintf("%d.75", 600+int(sig)) // by which the command is known
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			server := modeltest.NewServer(t, modeltest.Script(stubborn("fifo", seconds)))
			awake := p.fifo("fifo")
			cmd, keys, shot, state := openTerminal(
				t, p, "-m", "chat/m", "--base-url", server.OpenAI(), "--permission", "allow",
			)
			shot.shows(t, "? for shortcuts")
			raw := state()
			typed(t, keys, "go on\r")
			awake()
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			exited(t, cmd, want)
			awaitNoProcess(t, "sleep "+seconds)
			shot.shows(t, "settle was shut down")
			if got := state(); *got == *raw {
				t.Error("the terminal is still in raw mode")
			}
			shot.givesBack(t)
		})
	}
}

// Where the terminal cannot be drawn on, there are lines.
func TestTUIPlain(t *testing.T) {
	t.Parallel()
	inBothHosts(t, func(t *testing.T, p *place) {
		t.Helper()
		server := modeltest.NewServer(t, modeltest.Script(
			modeltest.Reply(
				modeltest.Text("I **write**."),
				modeltest.Call("write", `{"path":"a","content":"x\n"}`),
			),
			modeltest.Say("Done."),
		))
		cmd, keys, shot, _ := openTerminal(t, p, "--plain", "-m", "chat/m", "--base-url", server.OpenAI())
		shot.shows(t, "/help lists commands.")
		typed(t, keys, "write it\n")
		shot.shows(t, "1 allow once (y).")
		typed(t, keys, "1\n")
		shot.shows(t, "Done.")
		shot.shows(t, "Turn:")
		typed(t, keys, "/quit\n")
		exited(t, cmd, 0)
		if got := shot.String(); strings.Contains(got, "\x1b") ||
			!strings.Contains(got, "Answer:\nI write.\n") ||
			!strings.Contains(got, "Call:\ndone: write a") {
			t.Errorf("the terminal was sent %q", got)
		}
	})
}

// /permissions changes which calls run without asking, from the next call on.
func TestTUIPermissions(t *testing.T) {
	t.Parallel()
	inBothHosts(t, func(t *testing.T, p *place) {
		t.Helper()
		write := func(path string) modeltest.Turn {
			return modeltest.Reply(modeltest.Call("write", `{"path":"`+path+`","content":"x\n"}`))
		}
		server := modeltest.NewServer(
			t, modeltest.Script(
				write("one"), modeltest.Say("First done."), write("two"), modeltest.Say("Second done."),
			),
		)
		cmd, keys, shot, _ := openTerminal(t, p, "-m", "chat/m", "--base-url", server.OpenAI())
		shot.shows(t, "asks before ")
		typed(t, keys, "/permissions accept-edits\r")
		shot.shows(t, "accepts edits")
		typed(t, keys, "write one\r")
		shot.shows(t, "First done.")
		typed(t, keys, "\x1b[Z") // Shift-Tab: on to plan mode
		shot.shows(t, "from the next call on: plan")
		typed(t, keys, "\x1b[Z") // on to read-only
		shot.shows(t, "read-only")
		typed(t, keys, "write two\r")
		shot.shows(t, "Second done.")
		typed(t, keys, "\x04")
		exited(t, cmd, 0)
		for name, want := range map[string]bool{"one": true, "two": false} {
			if _, err := os.Stat(filepath.Join(p.work, name)); (err == nil) != want {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A plan is carried out in a session that knows nothing else, and that is not in plan mode.
func TestTUIPlanInNewSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("propose_plan", `{"plan":"1. Write one."}`)),
		modeltest.Reply(modeltest.Call("write", `{"path":"one","content":"x\n"}`)),
		modeltest.Say("The plan is done."),
	))
	cmd, keys, shot, _ := openTerminal(t, p, "--plan", "-m", "chat/m", "--base-url", server.OpenAI(), "think hard")
	answers := func(question, key string) { // when a key is meant for the question
		t.Helper()
		shot.waits(t, question, func(all string) bool {
			_, after, _ := strings.Cut(all, question)
			return strings.Contains(after, "waiting for you 1") || strings.Contains(after, "waiting for you 2")
		})
		typed(t, keys, key)
	}
	answers("8 carry it out in a new session", "8")
	shot.shows(t, "Carry out this plan:")
	shot.shows(t, "asks before ")
	typed(t, keys, "\r")
	answers("Allow the edit of one?", "y")
	shot.shows(t, "The plan is done.")
	typed(t, keys, "\x04")
	exited(t, cmd, 0)
	all := server.Exchanges()
	if last := string(all[len(all)-1].Body); !strings.Contains(last, "1. Write one.") ||
		strings.Contains(last, "think hard") {
		t.Errorf("the new session knows %s", last)
	}
	list, err := p.command("sessions").Output()
	if err != nil || strings.Count(string(list), "interrupted") != 1 || strings.Count(string(list), "completed") != 1 {
		t.Errorf("%v; the sessions are\n%s", err, list)
	}
}

// /fork goes on in a copy, /rename names it, and /resume lists both.
func TestTUIFork(t *testing.T) {
	t.Parallel()
	inBothHosts(t, func(t *testing.T, p *place) {
		t.Helper()
		server := modeltest.NewServer(
			t, modeltest.Script(modeltest.Say("First answer."), modeltest.Say("Second answer.")),
		)
		cmd, keys, shot, _ := openTerminal(t, p, "-m", "chat/m", "--base-url", server.OpenAI(), "say it")
		shot.shows(t, "First answer.")
		shot.shows(t, "✓ ")
		typed(t, keys, "/fork\r")
		shot.shows(t, "session 0")
		typed(t, keys, "say more\r")
		shot.shows(t, "Second answer.")
		typed(t, keys, "/rename the copy\r")
		shot.shows(t, "is called the copy")
		typed(t, keys, "/resume\r")
		shot.shows(t, "the copy\x1b[0;2m  this session") // in the list
		typed(t, keys, "say")
		shot.shows(t, "│ First answer.") // of the other one
		typed(t, keys, "\x07\x04")
		exited(t, cmd, 0)
		list, err := p.command("sessions").Output()
		if err != nil || strings.Count(string(list), "say it") != 1 || strings.Count(string(list), "the copy") != 1 {
			t.Errorf("%v; the sessions are\n%s", err, list)
		}
	})
}

// Ctrl-G gives the terminal to the person's editor: the editor receives the keys, and the modes of
// the terminal are as before. Afterwards, settle has the terminal again.
func TestTUIEditor(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	script := filepath.Join(p.work, "edit.sh")
	if err := os.WriteFile(script, []byte("echo in the editor\nread line\nprintf ' %s' \"$line\" >>\"$2\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "EDITOR=sh "+script+" --flag")
	server := modeltest.NewServer(t, modeltest.Script(modeltest.Say("Edited.")))
	cmd, keys, shot, state := openTerminal(t, p, "-m", "chat/m", "--base-url", server.OpenAI())
	shot.shows(t, "asks before ")
	typed(t, keys, "say\x07")
	shot.shows(t, "in the editor\n")
	inEditor := state()
	typed(t, keys, "hello\r")
	shot.shows(t, "say hello")
	typed(t, keys, "!\r")
	shot.shows(t, "say hello!")
	shot.shows(t, "Edited.")
	typed(t, keys, "\x04")
	exited(t, cmd, 0)
	if got := state(); *got != *inEditor {
		t.Errorf("the terminal is %+v, in the editor it was %+v", got, inEditor)
	}
}

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// If the reader of standard output is gone, the turn ends although it has nothing to write, and no
// process is left.
func TestStdoutIsClosed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(stubborn("fifo", "85.5")))
	awake := p.fifo("fifo")
	cmd := p.run(server, "go")
	reader, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started(t, cmd)
	awake()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	exited(t, cmd, 141)
	awaitNoProcess(t, "sleep 85.5")
	if said := cmd.Stderr.(*bytes.Buffer).String(); !strings.HasPrefix(
		said, "settle: the turn was ended: standard output was closed",
	) {
		t.Errorf("stderr: %s", said)
	}
}

// Nobody reads standard output, and it is full: a signal gets through, and the
// session is closed.
func TestStdoutIsNotRead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			modeltest.Text(strings.Repeat("word ", 300_000)),
			modeltest.Call("shell", `{"command":"echo awake > fifo; sleep 86.5"}`),
		),
	))
	awake := p.fifo("fifo")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	cmd := p.run(server, "--json=deltas", "go")
	cmd.Stdout = writer
	started(t, cmd)
	_ = writer.Close()
	awake()
	signalled(t, cmd, syscall.SIGTERM)
	exited(t, cmd, 143)
	awaitNoProcess(t, "sleep 86.5")
}

// A full disk under standard output.
func TestStdoutIsFull(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Log("there is no /dev/full here")
		return
	}
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(modeltest.Say("lost")))
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, cmd := range []*exec.Cmd{p.run(server, "go"), p.command("demo"), p.command("doctor")} {
		cmd.Stdout = full
		started(t, cmd)
		exited(t, cmd, 1)
		said := cmd.Stderr.(*bytes.Buffer).String()
		if first, _, _ := strings.Cut(said, "\n"); !strings.Contains(first, "no space left on device") ||
			strings.Count(said, first) > 1 {
			t.Errorf("%v: stderr: %s", cmd.Args, said)
		}
	}
}

// An input that is open and idle does not block a run with a prompt; available input is read.
func TestIdleInput(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"", "some context"} {
		p := newPlace(t)
		server := modeltest.NewServer(t, modeltest.Script(modeltest.Say("done").For(words)))
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer writer.Close() // held open beyond the run
		if _, err := writer.WriteString(words); err != nil {
			t.Fatal(err)
		}
		cmd := p.run(server, "go")
		cmd.Stdin = reader
		started(t, cmd)
		_ = reader.Close()
		exited(t, cmd, 0)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	sc := modeltest.Scenario{Loop: true, Turns: []modeltest.Turn{modeltest.Say("hello")}}
	server := modeltest.NewServer(t, sc)
	var all []*exec.Cmd
	for range 16 {
		cmd := p.run(server, "hi")
		cmd.Stdout = &bytes.Buffer{}
		started(t, cmd)
		all = append(all, cmd)
	}
	for _, cmd := range all {
		exited(t, cmd, 0)
		if got := cmd.Stdout.(*bytes.Buffer).String(); got != "hello\n" {
			t.Errorf("stdout: %q", got)
		}
	}
	list := p.command("sessions", "list", "--json")
	out, err := list.Output()
	if err != nil || bytes.Count(out, []byte("\n")) != 16 {
		t.Errorf("%v, list:\n%s", err, out)
	}
}

// A session that another process holds is refused with who holds it, running
// or stopped; --take ends that process and goes on.
func TestHeldSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(stubborn("fifo", "87.5"), modeltest.Say("mine now")))
	awake := p.fifo("fifo")
	holder := p.run(server, "--session", "s", "go")
	holder.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a job of a shell
	started(t, holder)
	awake()
	other := p.run(server, "--session", "s", "me too")
	started(t, other)
	exited(t, other, 2)
	if said := other.Stderr.(*bytes.Buffer).String(); !strings.Contains(
		said, "open in pid "+strconv.Itoa(holder.Process.Pid),
	) ||
		!strings.Contains(said, "--take") {
		t.Errorf("stderr: %s", said)
	}
	signalled(t, holder, syscall.SIGTSTP) // as a terminal does
	awaitStopped(t, holder.Process.Pid)
	other = p.run(server, "--session", "s", "me too")
	started(t, other)
	exited(t, other, 2)
	if said := other.Stderr.(*bytes.Buffer).String(); !strings.Contains(said, "stopped") {
		t.Errorf("stderr: %s", said)
	}
	taker := p.run(server, "--take", "--session", "s", "me now")
	taker.Stdout = &bytes.Buffer{}
	started(t, taker)
	exited(t, taker, 0)
	if got := taker.Stdout.(*bytes.Buffer).String(); got != "mine now\n" {
		t.Errorf("stdout: %q", got)
	}
	_ = holder.Wait() // it was ended, by TERM or by KILL
	awaitNoProcess(t, "sleep 87.5")
}

// The next process that opens the session ends everything that kill -9 interrupted, and the server
// accepts the history.
func TestKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(stubborn("fifo", "88.5"), modeltest.Say("I see")))
	awake := p.fifo("fifo")
	cmd := p.run(server, "--session", "s", "go")
	started(t, cmd)
	awake()
	signalled(t, cmd, os.Kill)
	exited(t, cmd, -1)
	again := p.run(server, "--session", "s", "what happened?")
	started(t, again)
	exited(t, again, 0)
	awaitNoProcess(t, "sleep 88.5")
	out, err := p.command("sessions", "export", "s").Output()
	if err != nil || !bytes.Contains(out, []byte(`"kind":"session.recovered"`)) ||
		!bytes.Contains(out, []byte(`"reason":"crashed"`)) {
		t.Errorf("%v, export:\n%s", err, out)
	}
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %v", refused)
	}
}

// The demo leaves nothing behind.
func TestDemo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	temp := t.TempDir()
	p.env = append(p.env, "TMPDIR="+temp)
	out, err := p.command("demo").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// C9: where the machine is too busy to see within the bound how the call ended,
	// its effects are unknown, not partial.
	for _, want := range []string{
		"the model is a script", "interrupted; effects: ", "no process is left",
		"+hello, world", "kill -9", "settle was killed", "Completed", "Try next",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the demo does not say %q:\n%s", want, out)
		}
	}
	left, err := filepath.Glob(temp + "/*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// The model server of the command line serves settle itself.
func TestFakeModel(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	scenario := filepath.Join(p.work, "scenario.json")
	if err := os.WriteFile(scenario, []byte(`{"turns": [{"items": [{"say": "played"}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	server := p.command("fake-model", "--scenario", scenario)
	lines, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started(t, server)
	first, err := bufio.NewReader(lines).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(first)
	run := p.command("run", "-m", "chat/m", "--base-url", fields[len(fields)-1], "hi")
	out, err := run.Output()
	if err != nil || string(out) != "played\n" {
		t.Errorf("%v: %q", err, out)
	}
	signalled(t, server, syscall.SIGTERM)
	exited(t, server, 0)
	if err := os.WriteFile(scenario, []byte(`{"turnz": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	server = p.command("fake-model", "--scenario", scenario)
	started(t, server)
	exited(t, server, 2)
	if said := server.Stderr.(*bytes.Buffer).String(); !strings.Contains(said, "turnz") {
		t.Errorf("stderr: %s", said)
	}
}

//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest"
)

// claudeLines is settle claude with a prompt whose call ignores TERM, and its output until the call
// runs.
type claudeLines struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	raw io.ReadCloser
}

func startClaude(t *testing.T) claudeLines {
	t.Helper()
	p := newPlace(t)
	started := p.fifo("started")
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("shell", `{"command":"trap '' TERM INT HUP; echo yes > started; sleep 1000"}`)),
	))
	cmd := p.command(
		"claude", "--input-format=stream-json", "--output-format=stream-json", "--verbose",
		"--permission-mode=bypassPermissions", "--model=chat/m", "--base-url="+srv.OpenAI(),
	)
	c := claudeLines{Cmd: cmd}
	var err error
	if c.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if c.raw, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewScanner(c.raw)
	c.out.Buffer(nil, 1<<20)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c.in, `{"type":"user","message":{"role":"user","content":"hello"}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	started()
	return c
}

// A signal ends the turn, even if a call ignores it, and the last messages are sent. That takes 1.5
// s at most if nothing else needs the machine.
func TestClaudeEndsWithASignal(t *testing.T) {
	for signal, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130} {
		c := startClaude(t)
		begin := time.Now()
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		var last struct {
			Type, Subtype string
			Errors        []string
		}
		for c.out.Scan() {
			if err := json.Unmarshal(c.out.Bytes(), &last); err != nil {
				t.Fatal(err)
			}
		}
		_ = c.Wait()                                          // the exit code is checked below
		if took := time.Since(begin); took > 15*time.Second { // the call would take longer
			t.Errorf("%s: it took %s", signal, took)
		}
		if last.Type != "result" || last.Subtype != "error_during_execution" ||
			!strings.Contains(strings.Join(last.Errors, ""), signalName(signal)) {
			t.Errorf("%s: the last words are %+v", signal, last)
		}
		if got := c.ProcessState.ExitCode(); got != code {
			t.Errorf("%s: exit code %d, want %d", signal, got, code)
		}
	}
}

func signalName(s syscall.Signal) string {
	if s == syscall.SIGINT {
		return "SIGINT"
	}
	return "SIGTERM"
}

// Where nobody reads any more, everything ends, though standard input is open.
func TestClaudeEndsWithItsReader(t *testing.T) {
	c := startClaude(t)
	begin := time.Now()
	if err := c.raw.Close(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // the exit code is checked below
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
	if got := c.ProcessState.ExitCode(); got != 141 {
		t.Errorf("exit code %d, want 141", got)
	}
}

// A link that is named claude is settle claude; any other name is settle.
func TestClaudeByName(t *testing.T) {
	for name, want := range map[string][]string{
		"/usr/bin/claude": {"claude", "-p", "hi"}, "claude": {"claude", "-p", "hi"}, "claude.exe": {"claude", "-p", "hi"},
		"/usr/bin/settle": {"-p", "hi"}, "/opt/claude/settle": {"-p", "hi"}, "claudette": {"-p", "hi"},
	} {
		if got := arguments([]string{name, "-p", "hi"}); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest"
)

// family runs settle as the child of a shell script, with standard output in a file, and returns
// the shell and a file that ends when all of them have ended.
func (p *place) family(
	script string,
	server *modeltest.Server,
	args ...string,
) (shell *exec.Cmd, ended *os.File, output string) {
	p.t.Helper()
	cmd := p.run(server, args...)
	shell = exec.CommandContext(p.ctx, "sh", append([]string{"-c", script}, cmd.Args...)...)
	shell.Dir, shell.Env, shell.WaitDelay = cmd.Dir, cmd.Env, time.Second
	output = filepath.Join(p.work, "output")
	out, err := os.Create(output)
	if err != nil {
		p.t.Fatal(err)
	}
	ended, theirs, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	shell.Stdout, shell.Stderr, shell.ExtraFiles = out, out, []*os.File{theirs}
	if err := shell.Start(); err != nil {
		p.t.Fatal(err)
	}
	_, _ = out.Close(), theirs.Close()
	p.t.Cleanup(func() { _ = ended.Close() })
	return shell, ended, output
}

// allEnded waits for that end, and returns the output.
func allEnded(t *testing.T, ended *os.File, output string) string {
	t.Helper()
	if err := ended.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(ended); err != nil {
		t.Fatalf("something still runs: %v", err)
	}
	text, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// If the process that started a run is killed, the run ends, even if standard output is still open.
func TestTheParentIsKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(stubborn("fifo", "79.5")))
	awake := p.fifo("fifo")
	shell, ended, output := p.family(`"$0" "$@"; :`, server, "--json", "go")
	awake()
	begin := time.Now()
	if err := shell.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = shell.Wait() // it was killed
	said := allEnded(t, ended, output)
	t.Logf("everything had ended after %v", time.Since(begin))
	awaitNoProcess(t, "sleep 79.5")
	if !strings.Contains(said, `"kind":"turn.aborted"`) ||
		!strings.Contains(said, "the process that started settle is gone") {
		t.Errorf("it said:\n%s", said)
	}
}

// A run that was sent into the background goes on without its parent.
func TestTheParentLeaves(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			modeltest.Call("shell", `{"command":"read go < fifo"}`),
		),
		modeltest.Reply(modeltest.Text("all done")),
	))
	path := filepath.Join(p.work, "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	fifo, err := os.OpenFile(path, os.O_RDWR, 0) // for both, so that it does not wait
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()
	shell, ended, output := p.family(`"$0" "$@" &`, server, "go")
	if err := shell.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := fifo.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
	if said := allEnded(t, ended, output); !strings.Contains(said, "all done") {
		t.Errorf("it said:\n%s", said)
	}
}

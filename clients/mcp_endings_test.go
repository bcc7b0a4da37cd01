//go:build clients && linux

package clients

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest"
)

// However the client goes, in a command that ignores TERM: soon settle is gone,
// and nothing of it is left.
func TestMCPEndings(t *testing.T) {
	for name, end := range map[string]func(*mcpScript, *os.Process){
		"stdin":  func(s *mcpScript, _ *os.Process) { _ = s.in.Close() },
		"stdout": func(s *mcpScript, _ *os.Process) { _ = s.read.Close() },
		"TERM":   func(_ *mcpScript, p *os.Process) { _ = p.Signal(syscall.SIGTERM) },
		"INT":    func(_ *mcpScript, p *os.Process) { _ = p.Signal(syscall.SIGINT) },
	} {
		t.Run(name, func(t *testing.T) {
			srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(mcpStubborn())))
			c := client{argv: mcpCommand(t, srv, "--permission", "allow"), dir: t.TempDir(), env: home(t)}
			s := mcpRaw(t, c)
			s.send(
				"init",
				"initialize",
				map[string]any{
					"protocolVersion": "2025-11-25",
					"capabilities":    map[string]any{},
					"clientInfo":      map[string]any{"name": "raw", "version": "1"},
				},
			)
			s.answer("init")
			s.send(1, "tools/call", map[string]any{"name": "run", "arguments": map[string]any{"prompt": "go"}})
			mcpAwait(t, filepath.Join(c.dir, "running"))
			begin := time.Now()
			end(s, s.process)
			if name != "stdout" {
				l := s.until(func(l mcpLine) bool { return l.Method == "" })
				if out, _ := l.Result["structuredContent"].(map[string]any); out["outcome"] != "aborted" {
					t.Errorf("the run was answered %v", l.Result)
				}
			}
			if err := s.end(); err != nil {
				t.Error(err)
			}
			if took := time.Since(begin); took > 3*time.Second { // 1.5 s, on a machine with nothing else to do
				t.Errorf("it took %v", took)
			}
			if left := marked(t, mcpHome(c)); len(left) > 0 {
				t.Errorf("left running: %v", left)
			}
		})
	}
}

// The program that started settle dies, and another process has the other ends of its streams.
func TestMCPDeadParent(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(mcpStubborn())))
	c := client{argv: []string{"sh", "-c", `exec 3<&0; "$@" <&3 & wait`, "sh"}, dir: t.TempDir(), env: home(t)}
	c.argv = append(c.argv, mcpCommand(t, srv, "--permission", "allow")...)
	s := mcpRaw(t, c)
	s.send(
		"init",
		"initialize",
		map[string]any{
			"protocolVersion": "2025-11-25",
			"capabilities":    map[string]any{},
			"clientInfo":      map[string]any{"name": "raw", "version": "1"},
		},
	)
	s.answer("init")
	s.send(1, "tools/call", map[string]any{"name": "run", "arguments": map[string]any{"prompt": "go"}})
	mcpAwait(t, filepath.Join(c.dir, "running"))
	if err := s.process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitNoProcess(t, mcpHome(c), goneTimeout)
	_ = s.in.Close()
	_ = s.end()
}

func mcpAwait(t *testing.T, path string) {
	t.Helper()
	for late := time.Now().Add(clientTimeout); !mcpExists(path); {
		if time.Now().After(late) {
			t.Fatalf("there is no %s", path)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// mcpStart starts a command with a script at its standard streams.
func mcpStart(t *testing.T, cmd *exec.Cmd) *mcpScript {
	t.Helper()
	cmd.Stdin, cmd.Stderr = nil, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	return &mcpScript{t: t, in: in, read: out, out: bufio.NewScanner(out), process: cmd.Process, end: cmd.Wait}
}

func mcpRaw(t *testing.T, c client) *mcpScript {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), clientTimeout)
	t.Cleanup(cancel)
	return mcpStart(t, c.command(ctx, t))
}

//go:build unix

package agent_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/agent"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// executorVariable turns this test binary into settle executor; its value is the directory of the
// sockets.
const executorVariable = "SETTLE_TEST_EXECUTOR"

// playExecutor runs an executor if the environment names the role.
func playExecutor() {
	sockets := os.Getenv(executorVariable)
	if sockets == "" {
		return
	}
	settings, err := config.Load(
		config.Input{Getenv: func(string) string { return "" }, ProjectConfig: config.IgnoreProject},
	)
	if err != nil {
		panic(err)
	}
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	stand, discard := assemble.ExecutorOptions{
		Environ:  os.Environ(),
		Getenv:   os.Getenv,
		Version:  "test",
		Settings: settings,
		Dir:      dir,
		Sockets:  sockets,
	}.Stand()
	err = stand.Run(context.Background(), struct {
		io.Reader
		io.WriteCloser
	}{os.Stdin, os.Stdout})
	if err != nil || discard() != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// The commands and files of an agent with an executor are on the executor's machine.
func TestExecutor(t *testing.T) {
	sockets, err := os.MkdirTemp("/tmp", "agent-executor-") // a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	there := t.TempDir()
	a := open(t, agent.Config{
		Model: model.Config{Provider: script.New(
			script.Turn(script.Call("write", `{"path":"new.txt","content":"hello\n"}`)),
			script.Turn(script.Call("shell", `{"command":"pwd; cat new.txt"}`)),
			script.Text("Done."),
		)},
		Permission: settle.Allow, IgnoreProject: true, ExecutorLease: time.Minute,
		Executor: fmt.Sprintf("cd %s && %s=%s exec %s", there, executorVariable, filepath.Join(sockets, "h"), self),
	})
	outcome, err := a.Run(t.Context(), "go")
	if err != nil || outcome.Answer != "Done." {
		t.Fatalf("%+v, %v", outcome, err)
	}
	if text, err := os.ReadFile(filepath.Join(there, "new.txt")); err != nil || string(text) != "hello\n" {
		t.Errorf("%q, %v", text, err)
	}
	if len(a.Notes) == 0 || !strings.Contains(strings.Join(a.Notes, "\n"), "commands and files: ") {
		t.Errorf("notes %q", a.Notes)
	}
}

// An unreachable executor is an error at once.
func TestUnreachableExecutorFailsAtOnce(t *testing.T) {
	_, err := agent.New(t.Context(), agent.Config{
		Model: model.Config{
			Name:     "m",
			Provider: script.New(),
		}, Dir: t.TempDir(), IgnoreProject: true, Executor: "echo no such host >&2; exit 1",
	})
	if err == nil || !strings.Contains(err.Error(), "no such host") {
		t.Errorf("got %v", err)
	}
}

//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/settle-agent/settle/internal/executor"
)

// deaf writes to an executor, and discards its answers.
type deaf struct{ io.WriteCloser }

func (deaf) Read([]byte) (int, error) { return 0, io.EOF }

// An executor survives a write on a lost connection: its client reconnects. The system sends a
// signal, which ends a program that does not expect it.
func TestExecutorOutlivesItsConnection(t *testing.T) {
	p := newPlace(t)
	cmd := p.command("executor")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	said := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = to, said
	err = errors.Join(from.Close(), cmd.Start(), to.Close())
	if err != nil {
		t.Fatal(err)
	}
	_, err = executor.NewRemote(t.Context(), executor.RemoteConfig{
		Settle: "test", Dial: func(context.Context) (io.ReadWriteCloser, error) { return deaf{in}, nil },
	})
	if err == nil {
		t.Error("there is a connection")
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("%v: %s", err, said)
	}
}

package executor

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) {
	proc.RunAsSupervisor()
	if dir := os.Getenv(roleVariable); dir != "" {
		playExecutor(dir)
	}
	os.Exit(leak.Run(m))
}

// roleVariable makes this test binary an executor instead of testing, with a directory
// for their sockets.
const roleVariable = "SETTLE_TEST_EXECUTOR"

// playExecutor is a small settle executor.
func playExecutor(dir string) {
	if _, err := proc.BecomeReaper(); err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s := &Listener{
		Settle: "test", Dir: dir, Machine: Machine{Name: "far", OS: "linux", Dir: "/"},
		Local: func(lock *os.File, marker string) *Local {
			return &Local{Env: []string{"PATH=" + os.Getenv("PATH")}, Marker: marker, Lock: lock}
		},
	}
	if err := s.Run(ctx, standardStreams{os.Stdin, os.Stdout}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		syscall.Exit(1) // os.Exit waits a second under the race detector
	}
	syscall.Exit(0)
}

type standardStreams struct {
	io.Reader
	io.WriteCloser
}

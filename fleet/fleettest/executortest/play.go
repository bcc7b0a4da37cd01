//go:build unix

package executortest

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/proc"
)

// The variables that give a role to the test binary, executed again.
const (
	roleVar = "FLEET_EXECUTOR_ROLE"
	// HostVar names the socket of the host that a proxy connects to, or an address.
	HostVar = "FLEET_EXECUTOR_HOST"
)

// The roles.
const (
	roleExecutor = "settle executor"
	roleProxy    = "proxy" // between the standard streams and a socket, as ssh is
)

// Play runs an executor, or a proxy to one, if the process was started as such, and then
// ends it with exit, which is [os.Exit]. TestMain calls it first.
func Play(exit func(int)) {
	var err error
	switch os.Getenv(roleVar) {
	case roleExecutor:
		err = runExecutor()
	case roleProxy:
		err = runProxy()
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		exit(1)
	}
	exit(0)
}

// keepDelay is the time for which an executor keeps unclaimed results; ten minutes outside of tests.
const keepDelay = 15 * time.Second

// runExecutor runs settle executor.
func runExecutor() error {
	if stop, err := proc.BecomeReaper(); err == nil {
		defer stop()
	}
	lost := make(chan os.Signal, 1) // the end of the connection is no reason to end
	signal.Notify(lost, syscall.SIGHUP, syscall.SIGPIPE)
	defer signal.Stop(lost)
	_ = os.Unsetenv(roleVar) // or each command that runs this binary would be an executor
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	settings, err := config.Load(config.Input{Dir: dir, Getenv: os.Getenv, ProjectConfig: config.IgnoreProject})
	if err != nil {
		return err
	}
	o := assemble.ExecutorOptions{
		Environ:  os.Environ(),
		Getenv:   os.Getenv,
		Settings: settings,
		Dir:      dir,
		Sockets:  filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "executor"),
	}
	stand, discard := o.Stand()
	stand.Keep = keepDelay
	defer func() { _ = discard() }() // a scratch directory
	return stand.Run(context.Background(), standardStream{})
}

// standardStream is standard input and output.
type standardStream struct{}

func (standardStream) Read(data []byte) (int, error)  { return os.Stdin.Read(data) }
func (standardStream) Write(data []byte) (int, error) { return os.Stdout.Write(data) }
func (standardStream) Close() error                   { _ = os.Stdin.Close(); return os.Stdout.Close() }

// runProxy copies between the standard streams and the host.
func runProxy() error {
	network, address := "unix", os.Getenv(HostVar)
	if !filepath.IsAbs(address) {
		network = "tcp"
	}
	conn, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	go func() { _, _ = io.Copy(conn, os.Stdin); _ = conn.Close() }() // ends with the process
	_, _ = io.Copy(os.Stdout, conn)
	return nil
}

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/modeltest/leak"
)

var server pgtest.Server

// The variables that make the test binary, run anew, something else.
const (
	roleVar   = "FLEET_TEST_ROLE"   // a role
	argsVar   = "FLEET_TEST_ARGS"   // of a command line, each with a tab behind it
	socketVar = "FLEET_TEST_SOCKET" // where a relay leads to
)

// The roles.
const (
	roleCommand = "settle-fleet"
	roleHands   = "settle hands"
	roleRelay   = "relay" // between the standard streams and a socket, as ssh is
)

func TestMain(m *testing.M) {
	settle.RunAsWarden()
	switch os.Getenv(roleVar) {
	case roleCommand:
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		args := strings.Split(os.Getenv(argsVar), "\t")
		_, _ = os.Unsetenv(roleVar), os.Unsetenv(argsVar)
		os.Exit(execute(ctx, args, os.Stdin, os.Stdout, os.Stderr))
	case roleHands:
		if err := playHands(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case roleRelay:
		conn, err := net.Dial("unix", os.Getenv(socketVar))
		if err != nil {
			os.Exit(1)
		}
		go func() { _, _ = io.Copy(conn, os.Stdin); _ = conn.Close() }() // ends with the process
		_, _ = io.Copy(os.Stdout, conn)
		os.Exit(0)
	}
	os.Exit(leak.Run(server.Tests(m, stopEngine)))
}

// playHands is settle hands.
func playHands() error {
	if stop, err := proc.BecomeReaper(); err == nil {
		defer stop()
	}
	lost := make(chan os.Signal, 1) // the end of the connection is no reason to end
	signal.Notify(lost, syscall.SIGHUP, syscall.SIGPIPE)
	defer signal.Stop(lost)
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	settings, err := config.Load(config.Input{Dir: dir, Getenv: os.Getenv, ProjectConfig: config.IgnoreProject})
	if err != nil {
		return err
	}
	o := assemble.HandsOptions{Environ: os.Environ(), Getenv: os.Getenv, Settings: settings, Dir: dir, Sockets: filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "hands")}
	stand, discard := o.Stand()
	defer discard()
	return stand.Run(context.Background(), standardStream{})
}

// standardStream is standard input and output.
type standardStream struct{}

func (standardStream) Read(data []byte) (int, error)  { return os.Stdin.Read(data) }
func (standardStream) Write(data []byte) (int, error) { return os.Stdout.Write(data) }
func (standardStream) Close() error                   { _ = os.Stdin.Close(); return os.Stdout.Close() }

package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/fleet/fleettest/executortest"
	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/modeltest/leak"
)

var server pgtest.Server

// The variables that make the test binary, run anew, the program.
const (
	roleVar     = "FLEET_TEST_ROLE"
	roleCommand = "settle-fleet"
	argsVar     = "FLEET_TEST_ARGS" // of its command line, each with a tab behind it
)

func TestMain(m *testing.M) {
	settle.RunAsSupervisor()
	executortest.Play(os.Exit)
	if os.Getenv(roleVar) == roleCommand {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		args := strings.Split(os.Getenv(argsVar), "\t")
		_, _ = os.Unsetenv(roleVar), os.Unsetenv(argsVar)
		os.Exit(execute(ctx, args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(leak.Run(server.Tests(m, temporalServer.Stop)))
}

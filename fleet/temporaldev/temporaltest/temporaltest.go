// Package temporaltest gives the tests of a package a Temporal of their own, and each
// test a task queue in it. The tests need the program settle-fleet-temporal, which
// $SETTLE_FLEET_TEMPORAL names, and fail without it.
package temporaltest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/settle-agent/settle/fleet/engine"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/temporaldev"
)

// Server is the server of a package's tests. The zero value starts one when the first
// test needs it.
type Server struct {
	once   sync.Once
	server *temporaldev.Server
	err    error

	mu     sync.Mutex
	queues int
}

// Stop ends the server, if there is one.
func (s *Server) Stop() {
	if s.server != nil {
		s.server.Stop()
	}
}

// Program returns the program of the server. Without one, the test fails.
func Program(t testing.TB) string {
	t.Helper()
	program := os.Getenv(temporaldev.ProgramVar)
	if program == "" {
		t.Fatal("needs a Temporal server: go build -C fleet/cmd/settle-fleet-temporal -o DIR ., " +
			"and name the program in $" + temporaldev.ProgramVar)
	}
	return program
}

// Address starts the server if there is none, and returns its address.
func (s *Server) Address(t testing.TB) string {
	t.Helper()
	program := Program(t)
	s.once.Do(func() {
		s.server, s.err = temporaldev.Start(context.Background(), temporaldev.Options{Program: program})
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server.Address
}

// Process returns the server's process.
func (s *Server) Process() *os.Process { return s.server.Process() }

// Crash kills the server and starts another one at its address, without the first one's
// state.
func (s *Server) Crash(ctx context.Context) error {
	_, port, err := net.SplitHostPort(s.server.Address)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	if err := s.server.Process().Kill(); err != nil {
		return err
	}
	<-s.server.Exited() // a process that was killed ends
	started, err := temporaldev.Start(
		ctx, temporaldev.Options{Program: os.Getenv(temporaldev.ProgramVar), Port: number},
	)
	if err == nil {
		s.server = started
	}
	return err
}

// Client returns a client that is closed at the end of the test.
func (s *Server) Client(t testing.TB) client.Client {
	t.Helper()
	c, err := client.Dial(
		client.Options{
			HostPort:          s.Address(t),
			ConnectionOptions: client.ConnectionOptions{GrpcCompression: engine.Compression()},
			Logger:            log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Queue returns a task queue that no other test has.
func (s *Server) Queue() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues++
	return fmt.Sprintf("test%d", s.queues)
}

// Last returns the task queue that was given out last.
func (s *Server) Last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("test%d", s.queues)
}

// Engine gives a place an engine, with a task queue of its own.
func (s *Server) Engine(t testing.TB, p *fleettest.Place) *engine.Engine {
	t.Helper()
	e := engine.Open(p.Pool, s.Client(t), engine.Options{
		Queue:  s.Queue(),
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	p.Engine = e
	return e
}

// Package pgtest gives the tests of a package a Postgres of their own, and each
// test a database in it.
package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle/fleet/pgdev"
)

// Server is the server of a package's tests. The zero value starts one when the
// first test needs it.
type Server struct {
	once   sync.Once
	server *pgdev.Server
	dir    string
	err    error

	mu        sync.Mutex
	databases int
}

// Stop ends the server, if there is one.
func (s *Server) Stop() {
	if s.server != nil {
		s.server.Stop()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// Tests are the tests of a package. They stop their servers before leaks are counted.
type Tests struct {
	m    *testing.M
	stop []func()
}

// Tests are m's. When they have run, further functions are called, the last one first, and
// then the server is stopped.
func (s *Server) Tests(m *testing.M, stop ...func()) Tests {
	return Tests{m, append([]func(){s.Stop}, stop...)}
}

// Run runs the tests.
func (t Tests) Run() int {
	code := t.m.Run()
	for _, stop := range slices.Backward(t.stop) {
		stop()
	}
	return code
}

func (s *Server) start() {
	// Not a test's directory: a socket's path may have 107 bytes.
	s.dir, s.err = os.MkdirTemp("/tmp", "settle-fleet-pg-")
	if s.err == nil {
		s.err = os.Chmod(s.dir, 0o711) // the server may be another user's
	}
	if s.err == nil {
		s.server, s.err = pgdev.Start(
			context.Background(), pgdev.Options{Dir: filepath.Join(s.dir, "pg"), NoSync: true},
		)
	}
}

// Process returns the server's process.
func (s *Server) Process() *os.Process { return s.server.Process() }

// Crash kills the server and starts it again: asynchronous commits can be lost, and every
// connection is.
func (s *Server) Crash(ctx context.Context) error {
	if err := s.server.Process().Kill(); err != nil {
		return err
	}
	<-s.server.Exited() // a process that was killed ends
	for {               // its backends find out by themselves, and until then their memory is in use
		started, err := pgdev.Start(ctx, pgdev.Options{Dir: filepath.Join(s.dir, "pg"), NoSync: true})
		if err == nil {
			s.server = started
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
	}
}

// URL makes a new database and returns what connects to it.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	url, err := s.NewURL(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// NewURL is [Server.URL] for examples, which have no test.
func (s *Server) NewURL(ctx context.Context) (string, error) {
	if s.once.Do(s.start); s.err != nil {
		return "", s.err
	}
	s.mu.Lock()
	s.databases++
	name := fmt.Sprintf("test%d", s.databases)
	s.mu.Unlock()
	conn, err := pgx.Connect(ctx, s.server.URL)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	u, err := url.Parse(s.server.URL)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// Pool makes a new database and connects to it.
func (s *Server) Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return Connect(t, s.URL(t))
}

// Connect connects to a database until the end of the test.
func Connect(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

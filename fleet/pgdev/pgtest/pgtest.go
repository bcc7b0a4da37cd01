// Package pgtest gives the tests of a package a Postgres of their own, and each
// test a database in it.
package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
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

func (s *Server) start() {
	// Not a test's directory: a socket's path may have 107 bytes.
	s.dir, s.err = os.MkdirTemp("/tmp", "settle-fleet-pg-")
	if s.err == nil {
		s.err = os.Chmod(s.dir, 0o711) // the server may be another user's
	}
	if s.err == nil {
		s.server, s.err = pgdev.Start(context.Background(), pgdev.Options{Dir: filepath.Join(s.dir, "pg"), Forgetful: true})
	}
}

// Process returns the server's process.
func (s *Server) Process() *os.Process { return s.server.Process() }

// URL makes a new database and returns what connects to it.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	s.once.Do(s.start)
	if s.err != nil {
		t.Fatal(s.err)
	}
	s.mu.Lock()
	s.databases++
	name := fmt.Sprintf("test%d", s.databases)
	s.mu.Unlock()
	conn, err := pgx.Connect(t.Context(), s.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(s.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
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

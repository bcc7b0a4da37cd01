package execserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/repo/quarantine"
	"github.com/settle-agent/settle/internal/scope"
)

// Options configure a server. A duration of 0 means its default.
type Options struct {
	Version string
	// Dir, Home, TempDir and Shell describe this machine to clients.
	Dir, Home, TempDir, Shell string
	// Env is the environment that processes inherit if their client requests it.
	Env []string
	// Environ is the environment of the user, which can name configurations of git.
	Environ []string
	// Marker marks the environment of processes; see [proc.Spec].
	Marker string
	// ResumeTimeout is the lifetime of a session without a connection. A negative value ends the
	// session with its connection.
	ResumeTimeout time.Duration
	// PingDelay is the time between two pings. PingTimeout bounds the wait for a client's sign of
	// life, and ProbeTimeout bounds it when another connection wants the client's session.
	PingDelay, PingTimeout, ProbeTimeout time.Duration
	Logger                               *slog.Logger
}

func (o Options) withDefaults() Options {
	o.ResumeTimeout = max(0, cmp.Or(o.ResumeTimeout, 30*time.Second))
	o.PingDelay, o.PingTimeout, o.ProbeTimeout = cmp.Or(o.PingDelay, 30*time.Second), cmp.Or(
		o.PingTimeout, time.Minute,
	), cmp.Or(o.ProbeTimeout, time.Second)
	o.TempDir = cmp.Or(o.TempDir, "/tmp")
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Server serves clients over any number of connections.
type Server struct {
	options Options
	methods map[string]method
	held    atomic.Int64 // bytes of output that are kept
	// repositories guards the folders that sandboxed commands can change.
	repositories *quarantine.Guard

	mu       sync.Mutex // guards the rest
	sessions map[string]*session
	live     map[*session]bool // including sessions that are being ended
	conns    map[*conn]bool
	closed   bool
	work     sync.WaitGroup // the connections
}

// New returns a server.
func New(o Options) *Server {
	return &Server{
		options: o.withDefaults(), methods: methods(), repositories: quarantine.New(),
		sessions: map[string]*session{}, live: map[*session]bool{}, conns: map[*conn]bool{},
	}
}

// enter counts a connection. It reports false if the server has ended.
func (s *Server) enter(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.conns[c] = true
	s.work.Add(1)
	return true
}

func (s *Server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.work.Done()
}

// forget removes a session from the sessions that can be resumed.
func (s *Server) forget(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, one.id)
}

// ended takes it that nothing of a session runs any more.
func (s *Server) ended(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, one)
}

// Close ends all sessions with everything that runs in them, then all connections. The error names
// the processes that did not end before ctx.
func (s *Server) Close(ctx context.Context, reason event.Reason, by string) error {
	s.mu.Lock()
	s.closed = true
	all := make([]*session, 0, len(s.live))
	for one := range s.live {
		all = append(all, one)
	}
	s.mu.Unlock()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var left []event.Process
	for _, one := range all {
		wg.Go(scope.Shield(scope.Log(s.options.Logger, nil, "ending a session panicked"), func() { // ends with ctx
			some := one.end(ctx)
			mu.Lock()
			left = append(left, some...)
			mu.Unlock()
		}))
	}
	wg.Wait()
	s.mu.Lock()
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.stop(fmt.Errorf("the server ended (%s, %s)", reason, by))
		wg.Go(func() { c.carrier.Close("the server is ending") }) // bounded by the carrier
	}
	wg.Wait()
	var err error
	for _, p := range left {
		err = errors.Join(err, fmt.Errorf("process %d (%s) did not end", p.PID, p.Command))
	}
	return errors.Join(err, s.wait(ctx, all), s.repositories.Close())
}

// wait waits for the connections, and for the goroutines of the sessions' processes.
func (s *Server) wait(ctx context.Context, all []*session) error {
	done := make(chan struct{})
	go func() { // ends with the connections and the processes, which all are ending
		defer close(done)
		s.work.Wait()
		for _, one := range all {
			one.work.Wait()
		}
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.New("a connection did not end in time")
	}
}

// Logger returns the logger for messages that do not concern a client.
func (s *Server) Logger() *slog.Logger { return s.options.Logger }

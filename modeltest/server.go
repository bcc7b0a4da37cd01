package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// TB has the methods of testing.TB that a [Server] calls.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
}

// Server is a language model behind HTTP that follows a [Scenario]. It speaks
//
//	POST /v1/responses         OpenAI Responses
//	POST /v1/messages          Anthropic Messages
//	POST /v1/chat/completions  Chat Completions
//	GET  /v1/models
//
// and answers each request with the next turn in the dialect that was asked.
type Server struct {
	// URL is the server's address without a path; "" while it has no listener.
	URL string

	rules       Rules
	accountName atomic.Value // an account: whose reasoning it knows
	rejects     atomic.Pointer[[]Rejection]
	answer      func(Request) Turn
	script      script
	rec         record
	issued      issued
	caches      caches

	transport *http.Transport // of Client
	http      *http.Server    // nil until it serves

	mu      sync.Mutex
	running int           // handlers under way; guarded by mu
	idle    chan struct{} // closed when running falls to 0; nil unless Close waits; guarded by mu
	stop    chan struct{} // closed by Close
	stopped bool          // guarded by mu
	served  chan struct{} // closed when the accept loop has ended; nil until it serves
}

// closeGrace bounds the wait of Close for running requests.
const closeGrace = 5 * time.Second

// New returns a server without a listener, for use through [Server.Handler].
func New(sc Scenario) *Server {
	s := &Server{
		rules: sc.Rules, answer: sc.Answer, script: script{turns: sc.Turns, loop: sc.Loop},
		stop: make(chan struct{}),
	}
	s.SetAccount(sc.Rules.Account)
	s.Reject(sc.Rules.Rejects...)
	return s
}

// SetAccount changes [Rules.Account] from the next request on: earlier signatures are refused, as
// after a user has changed the key.
func (s *Server) SetAccount(name string) { s.accountName.Store(account(name)) }

func (s *Server) account() account {
	name, _ := s.accountName.Load().(account)
	return name
}

// NewServer starts a server on a free port of the loopback interface. With a
// test, it is closed when the test ends; without (nil), call Close. It panics
// if no port is available, as httptest does.
func NewServer(tb TB, sc Scenario) *Server {
	if tb != nil {
		tb.Helper()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(fmt.Sprintf("modeltest: cannot listen on the loopback interface: %v", err))
	}
	s := New(sc)
	s.transport = &http.Transport{}
	s.start(l, "http://"+l.Addr().String())
	s.closeAfter(tb)
	return s
}

// NewMemoryServer is NewServer without a network: its connections are pipes in
// memory that only its Client can open. Within a testing/synctest bubble it
// runs under the bubble's clock.
func NewMemoryServer(tb TB, sc Scenario) *Server {
	s := New(sc)
	l := Listen()
	s.transport = &http.Transport{DialContext: l.DialContext}
	s.start(l, "http://model.test")
	s.closeAfter(tb)
	return s
}

// Serve plays the scenario on the listener until ctx ends, and closes the listener. `settle
// fake-model` calls it.
func Serve(ctx context.Context, sc Scenario, l net.Listener) error { return New(sc).Serve(ctx, l) }

// Serve serves on the listener until ctx ends, and closes the listener and
// every connection. A server serves once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.start(l, "http://"+l.Addr().String())
	select {
	case <-ctx.Done():
		return s.Close()
	case <-s.served:
		return errors.Join(errors.New("the model server stopped: its listener failed"), s.Close())
	}
}

func (s *Server) closeAfter(tb TB) {
	if tb == nil {
		return
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("%v", err)
		}
	})
}

// OpenAI is the base URL for clients of Responses and Chat Completions.
func (s *Server) OpenAI() string { return s.URL + "/v1" }

// Anthropic is the base URL for clients of Messages.
func (s *Server) Anthropic() string { return s.URL }

// Client returns a client for the server. Its connections are closed by Close.
func (s *Server) Client() *http.Client {
	if s.transport == nil {
		return &http.Client{}
	}
	return &http.Client{Transport: s.transport}
}

// Then adds turns to the script, also while it is played.
func (s *Server) Then(turns ...Turn) { s.script.add(turns) }

// Left returns how many turns of the script have not been played.
func (s *Server) Left() int { return s.script.left() }

func (s *Server) start(l net.Listener, url string) {
	s.URL = url
	s.startWith(l, s.Handler())
}

// startWith serves l in a goroutine, which Close ends and waits for.
func (s *Server) startWith(l net.Listener, handler http.Handler) {
	s.http = s.newHTTP(handler)
	s.served = make(chan struct{})
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l) // always ErrServerClosed: Close closes it
	}()
}

func (s *Server) newHTTP(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ConnState: s.connState, ErrorLog: log.New(io.Discard, "", 0)}
}

func (s *Server) connState(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.rec.update(func() { s.rec.opened++ })
	case http.StateClosed, http.StateHijacked: // hijacked by a fault that closes it
		s.rec.update(func() { s.rec.closed++ })
	}
}

// Close closes the listener and every connection, ends all running requests and waits
// for them. Calling it twice is harmless.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		close(s.stop)
	}
	s.mu.Unlock()
	if s.transport != nil {
		s.transport.CloseIdleConnections()
	}
	var errs []error
	if s.http != nil {
		errs = append(errs, s.http.Close())
	}
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	if s.served != nil {
		select {
		case <-s.served:
		case <-grace.C:
			errs = append(errs, errors.New("the accept loop did not stop"))
		}
	}
	select {
	case <-s.whenIdle():
	case <-grace.C:
		errs = append(errs, errors.New("a request did not stop"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cannot close the model server: %w", err)
	}
	return nil
}

// enter counts a handler in; leave counts it out.
func (s *Server) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running++
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if s.running == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// whenIdle returns a channel that is closed when no handler runs.
func (s *Server) whenIdle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == 0 {
		idle := make(chan struct{})
		close(idle)
		return idle
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	return s.idle
}

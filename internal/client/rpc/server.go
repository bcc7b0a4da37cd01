package rpc

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/internal/scope"
)

// Options are a frontend's settings for a client.
type Options struct {
	In  io.Reader
	Out io.Writer
	// Sessions opens sessions. Dir, which is absolute, is the directory of sessions that
	// name none.
	Sessions *assemble.Sessions
	Dir      string
	// Version is the program's version.
	Version string
	// Stops end the server. After the first one, each further one takes the time
	// away that running calls have to end.
	Stops <-chan stdio.Stop
	// Exit, if set, ends the process if the shutdown blocks.
	Exit func(code int)
	// CloseTimeout bounds the end of all sessions; 0 means [stdio.CloseTimeout].
	CloseTimeout time.Duration
	// MaxRequests bounds the requests that are open; 0 means 256.
	MaxRequests int
	// Say, if set, shows an error to the person who started the program.
	Say    func(error)
	Logger *slog.Logger // logs the client's protocol errors; nil discards them
}

// Protocol is the part that each frontend supplies.
type Protocol struct {
	Dialect jsonrpc.Dialect
	Handler jsonrpc.Handler
	// Busy answers a request that is one too many.
	Busy *jsonrpc.Error
	// Refusal converts the error of a method to a response; nil uses the error unchanged.
	Refusal func(ctx context.Context, err error) error
}

// maxRequests bounds the requests of a client that are open.
const maxRequests = 256

var errEnded = errors.New("the server has ended")

// Server serves one client. A frontend embeds it.
type Server struct {
	Options
	Protocol
	*jsonrpc.Conn
	// Life is the context of all work for the client: it ends last. Serve sets it.
	Life context.Context // as it says

	end  context.CancelCauseFunc
	work sync.WaitGroup // lanes and background work

	mu     sync.Mutex // guards the fields below
	closed bool       // no lane begins any more
	broken error      // panics of the frontend
	client string
	lanes  map[string][]func() // waiting work, by the name of the lane
}

// New returns a server that Serve starts.
func New(o Options, p Protocol) *Server {
	if p.Refusal == nil {
		p.Refusal = func(_ context.Context, err error) error { return err }
	}
	return &Server{
		Options: o, Protocol: p, client: "client", lanes: map[string][]func(){},
		Conn: jsonrpc.New(jsonrpc.Options{
			In: o.In, Out: o.Out, Dialect: p.Dialect, Handler: p.Handler, Overloaded: p.Busy, Logger: o.Logger,
			MaxInFlight: cmp.Or(o.MaxRequests, maxRequests), Linger: true,
		}),
	}
}

// Serve answers the client until the client closes its end, stops reading, or a stop
// arrives, which Serve returns. Serve then closes every session and sends the remaining
// messages. The error names the sessions that did not end.
func (s *Server) Serve(ctx context.Context) (*stdio.Stop, error) {
	s.Life, s.end = context.WithCancelCause(context.WithoutCancel(ctx)) // a stop is for Serve to take
	defer s.end(errEnded)
	s.Start(s.Life)
	select {
	case stop := <-s.Stops:
		return &stop, s.shutDown(stop)
	case <-s.Ended():
	}
	stop := stdio.Stop{Reason: event.Shutdown, By: "stdin"}
	if s.Unread() {
		stop.By = "stdout"
	}
	return nil, errors.Join(s.shutDown(stop), s.defect())
}

func (s *Server) shutDown(stop stdio.Stop) error {
	return stdio.Shutdown{
		Close:   s.Sessions.CloseAll,
		Hurry:   stdio.Hurry(s.Sessions.All),
		Drain:   s.drain,
		Stops:   s.Stops,
		Exit:    s.Exit,
		Timeout: s.CloseTimeout,
	}.Run(stop)
}

// drain waits for pending output and writes it.
func (s *Server) drain(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	if !stdio.Await(ctx, s.work.Wait) {
		s.end(errEnded) // it ends the work
	}
	if lost := s.Close(ctx); lost != nil && s.Logger != nil {
		s.Logger.Warn("the client did not hear the end", "error", lost)
	}
}

// Go runs background work beside the lanes. Only a lane or other background work calls it.
// The work ends with its session, or with Life.
func (s *Server) Go(work func()) { s.work.Go(scope.Shield(s.Panicked, work)) }

// Panicked ends the connection after a panic in the frontend: otherwise the client would
// wait forever for the panicked work's response.
func (s *Server) Panicked(err error) {
	scope.LogPanic(s.Logger, nil, "a frontend panicked", err)
	s.mu.Lock()
	s.broken = errors.Join(s.broken, err)
	s.mu.Unlock()
	s.Break(err)
}

// defect returns the error that Panicked received.
func (s *Server) defect() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// Tell reports an error, if there is one, to the person who started the program.
func (s *Server) Tell(err error) {
	if err != nil && s.Say != nil {
		s.Say(err)
	}
}

// Client is the client's name, as logs have it.
func (s *Server) Client() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// SetClientName records the client's name, if the client sends one.
func (s *Server) SetClientName(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = cmp.Or(name, s.client)
}

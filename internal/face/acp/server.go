package acp

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// Options are what a Server needs.
type Options struct {
	In  io.Reader
	Out io.Writer
	// Sessions opens sessions, and Dir is where those work that name no directory
	// and where settings are looked for otherwise.
	Sessions *assemble.Sessions
	Dir      string
	// Version is that of the program.
	Version string
	// Stops end the server. After the first one, each further one takes the time
	// away that running calls have to end.
	Stops <-chan stdio.Stop
	// Exit, if set, ends the process where the way out is blocked.
	Exit func(code int)
	// CloseTimeout bounds the end of all sessions; 0 means [stdio.CloseTimeout].
	CloseTimeout time.Duration
	// Say tells the person who started the program something.
	Say    func(error)
	Logger *slog.Logger // for what the client does wrong; nil is silent
}

// mostRequests bounds the requests of a client that are open.
const mostRequests = 256

// Server is an agent of one client.
type Server struct {
	o    Options
	conn *jsonrpc.Conn
	life context.Context //nolint:containedctx // of followers: it ends after everything else

	work sync.WaitGroup // followers, and what answers requests

	mu       sync.Mutex // guards what follows
	client   string     // name, for the log
	can      clientCapabilities
	sessions map[string]*session // that the client has open
	leaving  map[string]*session // that are being closed
	over     bool                // no work begins any more
}

// New returns a server that Serve starts.
func New(o Options) *Server {
	s := &Server{o: o, client: "client", sessions: map[string]*session{}, leaving: map[string]*session{}}
	s.conn = jsonrpc.New(jsonrpc.Options{
		In: o.In, Out: o.Out, Dialect: jsonrpc.V2, Handler: s, Logger: o.Logger,
		Overloaded: jsonrpc.Errorf(jsonrpc.CodeInternal, "settle is busy: %d requests are open", mostRequests), MaxInFlight: mostRequests,
	})
	return s
}

// Serve answers the client until it closes its end, a stop comes, or nobody
// reads any more. Then it ends everything in every session; what there is to
// say of that is still said. The error names what did not end.
func (s *Server) Serve(ctx context.Context) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	s.life = life
	s.conn.Start(life)
	stop := stdio.Stop{Reason: event.Shutdown, By: "stdin"}
	select {
	case stop = <-s.o.Stops:
	case <-s.conn.Ended():
	}
	return stdio.Ladder{
		Close: s.o.Sessions.CloseAll, Hurry: stdio.Hurry(s.o.Sessions.All), Drain: s.drain, Stops: s.o.Stops, Exit: s.o.Exit,
		Timeout: s.o.CloseTimeout,
	}.Descend(stop)
}

// start has work done beside the reading of requests, and reports whether it
// will be: not after the end.
func (s *Server) start(work func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	s.work.Go(work) // drain waits for it; it ends with its session or its request
	return true
}

// drain waits for what still has something to say, and lets it out.
func (s *Server) drain(ctx context.Context) {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	stdio.Await(ctx, s.work.Wait) // followers and requests, which end with their sessions and the connection
	if lost := s.conn.Close(ctx); lost != nil && s.o.Logger != nil {
		s.o.Logger.Warn("the client did not hear the end", "error", lost)
	}
}

// say tells the person something, if there is anything.
func (s *Server) say(err error) {
	if err != nil && s.o.Say != nil {
		s.o.Say(err)
	}
}

func (s *Server) clientName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// find returns the session, which the client has open or is opening.
func (s *Server) find(id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.sessions[id]; found != nil {
		return found, nil
	}
	return nil, jsonrpc.Errorf(codeNotFound, "there is no open session %q; session/new, session/load and session/resume open one", id)
}

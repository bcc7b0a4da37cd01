package appserver

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// Options are what a server needs.
type Options struct {
	In       io.Reader
	Out      io.Writer
	Sessions *assemble.Sessions
	// Dir is the working directory of threads that name none, absolute.
	Dir     string
	DataDir string
	Version string
	// Sandbox and Approval are what threads may do where the client does not say,
	// in its words; empty is what the permission that is configured says.
	Sandbox, Approval string
	// Getenv reads the environment.
	Getenv func(string) string
	// Warn says what the user should know, on standard error.
	Warn func(message string)
	// Exit, if set, ends the process where the way out is blocked.
	Exit func(code int)
	// CloseTimeout bounds the end of all threads; 0 means [stdio.CloseTimeout].
	CloseTimeout time.Duration
	// MostRequests bounds the requests that are open; 0 means 256.
	MostRequests int
}

const (
	codeOverloaded = -32001
)

// Server serves one client.
type Server struct {
	Options
	conn *jsonrpc.Conn
	in   *input
	disk disk
	ctx  context.Context //nolint:containedctx // that of the work; it ends with shutDown
	end  context.CancelCauseFunc
	work sync.WaitGroup // lanes, and what follows threads

	mu      sync.Mutex // guards what follows
	closed  bool       // no lane begins any more
	ready   bool       // initialize was answered
	by      string     // the client's name
	unasked []string   // notifications that the client does not want
	lanes   map[string][]func()
	threads map[string]*loadedThread
}

// Serve answers the client until it closes its end or a stop comes, then ends
// everything, says so, and returns the stop, if there was one. The error is
// about what did not end.
func Serve(ctx context.Context, o Options, stops <-chan stdio.Stop) (*stdio.Stop, error) {
	s := &Server{Options: o, disk: disk{catalogue.Shelf{Dir: o.DataDir}}, by: "client", lanes: map[string][]func(){}, threads: map[string]*loadedThread{}}
	s.ctx, s.end = context.WithCancelCause(context.WithoutCancel(ctx)) // a stop is for Serve to take
	defer s.end(nil)
	s.in = newInput(o.In)
	s.conn = jsonrpc.New(jsonrpc.Options{
		In: s.in, Out: o.Out, Dialect: jsonrpc.Bare, Handler: s, MaxInFlight: o.MostRequests,
		Overloaded: jsonrpc.Errorf(codeOverloaded, "Server overloaded; retry later."),
	})
	s.conn.Start(s.ctx)
	stop := stdio.Stop{Reason: event.Shutdown}
	select {
	case stop = <-stops:
		return &stop, s.shutDown(stop, stops)
	case <-s.in.gone:
		stop.By = "stdin"
	case <-s.conn.Ended(): // nobody reads what is said
		stop.By = "stdout"
	}
	return nil, s.shutDown(stop, stops)
}

// shutDown ends all threads while what happens is still told, then the
// connection.
func (s *Server) shutDown(stop stdio.Stop, more <-chan stdio.Stop) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	var lost error
	drain := func(ctx context.Context) {
		if !stdio.Await(ctx, s.work.Wait) {
			s.end(errEnded) // it ends the work
		}
		close(s.in.release)
		if lost = s.conn.Close(ctx); stop.By != "stdin" || errors.Is(lost, io.EOF) {
			lost = nil
		}
	}
	err := stdio.Ladder{
		Timeout: s.CloseTimeout, Close: s.Sessions.CloseAll, Hurry: stdio.Hurry(s.Sessions.All), Drain: drain, Stops: more, Exit: s.Exit,
	}.Descend(stop)
	s.end(errEnded)
	return errors.Join(err, lost, s.disk.Close())
}

var errEnded = errors.New("the server has ended")

// lane runs f after all that was put into the lane before: what is about one
// thread happens in order. It reports false where nothing more begins.
func (s *Server) lane(name string, f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	waiting, busy := s.lanes[name]
	s.lanes[name] = append(waiting, f)
	if !busy {
		s.work.Go(func() { s.run(name) }) // ends when the lane is empty; shutDown waits for it
	}
	return true
}

func (s *Server) run(name string) {
	for {
		s.mu.Lock()
		waiting := s.lanes[name]
		if len(waiting) == 0 {
			delete(s.lanes, name)
			s.mu.Unlock()
			return
		}
		s.lanes[name] = waiting[1:]
		s.mu.Unlock()
		waiting[0]()
	}
}

// Handle implements [jsonrpc.Handler].
func (s *Server) Handle(_ context.Context, r *jsonrpc.Request) {
	if r.IsNotification() {
		return // "initialized" is all there is
	}
	method, ok := methods()[r.Method]
	switch {
	case r.Method == "initialize":
		s.initialize(r)
	case !ok:
		r.Fail(jsonrpc.MethodNotFound(r.Method))
	case !s.initialized():
		r.Fail(invalid("Not initialized"))
	default:
		var about struct {
			ThreadID string `json:"threadId"`
		}
		if err := r.Decode(&about); err != nil {
			r.Fail(err)
			return
		}
		lane := about.ThreadID
		if lane == "" {
			lane = "request " + string(r.ID) // nobody has to wait for it
		}
		if !s.lane(lane, func() { s.serve(r, method) }) {
			r.Fail(errEnded)
		}
	}
}

// method answers a request: with the result, the error, or later by itself,
// where it returns neither.
type method func(s *Server, ctx context.Context, r *jsonrpc.Request) (any, error)

func (s *Server) serve(r *jsonrpc.Request, m method) {
	switch result, err := m(s, s.ctx, r); {
	case err != nil:
		r.Fail(err)
	case result != nil:
		r.Reply(result)
	}
}

// methods are those that clients may call, beside initialize.
func methods() map[string]method {
	return map[string]method{
		"config/read":                          (*Server).configRead,
		"account/read":                         (*Server).accountRead,
		"model/list":                           (*Server).modelList,
		"permissionProfile/list":               (*Server).profileList,
		"skills/list":                          (*Server).skillsList,
		"skills/extraRoots/set":                (*Server).skillsRoots,
		"thread/start":                         (*Server).threadStart,
		"thread/resume":                        (*Server).threadResume,
		"thread/list":                          (*Server).threadList,
		"thread/loaded/list":                   (*Server).threadLoaded,
		"thread/read":                          (*Server).threadRead,
		"thread/archive":                       (*Server).threadArchive,
		"thread/unarchive":                     (*Server).threadUnarchive,
		"thread/unsubscribe":                   (*Server).threadUnsubscribe,
		"thread/name/set":                      (*Server).threadName,
		"thread/goal/get":                      (*Server).goalGet,
		"thread/backgroundTerminals/list":      (*Server).jobList,
		"thread/backgroundTerminals/terminate": (*Server).jobTerminate,
		"turn/start":                           (*Server).turnStart,
		"turn/steer":                           (*Server).turnSteer,
		"turn/interrupt":                       (*Server).turnInterrupt,
	}
}

func (s *Server) initialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready
}

// client is the client's name, as the log has it.
func (s *Server) client() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by
}

// notify sends a notification, unless the client does not want it.
func (s *Server) notify(ctx context.Context, n note) {
	s.mu.Lock()
	unasked := slices.Contains(s.unasked, n.Method)
	s.mu.Unlock()
	if !unasked {
		_ = s.conn.Notify(ctx, n.Method, n.Params) // that nobody reads is the connection's to notice
	}
}

func (s *Server) warn(message string) {
	if s.Warn != nil {
		s.Warn(message)
	}
}

// live returns the thread if it is loaded.
func (s *Server) live(id string) *loadedThread {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.threads[id]
}

// loaded returns the thread, which must be loaded.
func (s *Server) loaded(id string) (*loadedThread, error) {
	if l := s.live(id); l != nil {
		return l, nil
	}
	return nil, invalid("thread not found: %s", id)
}

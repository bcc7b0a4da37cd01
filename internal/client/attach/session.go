package attach

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/hostsocket"
	"github.com/settle-agent/settle/internal/journal"

	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/internal/proc"
)

// joinTimeout is how long a host may take to let a guest in.
const joinTimeout = 2 * time.Second

// ErrNotHosted says that no process that lets guests in has the session open.
var ErrNotHosted = errors.New("no other process hosts the session")

// Session is a session that another process hosts. Its methods may be called by
// several goroutines.
type Session struct {
	dataDir string
	state   event.State // as it was at the beginning
	host    Host
	conn    net.Conn // that calls go over
	calls   *jsonrpc.Conn
	life    context.Context //nolint:containedctx // its own, until Close
	end     context.CancelFunc

	mu       sync.Mutex // guards what follows
	settings Settings
	unsure   submission // the last input that was not answered
}

// Open joins the session if another process hosts it, else the error is
// [ErrNotHosted], or says why it cannot be joined. The caller closes it.
func Open(ctx context.Context, dataDir, id string) (*Session, error) {
	if free, err := journal.Free(dataDir, id); free || err != nil {
		return nil, errors.Join(ErrNotHosted, err)
	}
	state, err := journal.Load(dataDir, id)
	if err != nil {
		return nil, err
	}
	state.Session = id
	s := &Session{dataDir: dataDir, state: state}
	var hello answer
	if s.conn, hello, err = s.join(ctx, nil); err != nil {
		return nil, err
	}
	s.host, s.settings = *hello.Host, hello.Settings
	s.life, s.end = context.WithCancel(context.Background())
	s.calls = jsonrpc.New(jsonrpc.Options{In: s.conn, Out: s.conn, Handler: deaf{}, MaxFrame: maxMessage})
	s.calls.Start(s.life)
	return s, nil
}

// HostOf returns the process that has the session open, if it can be seen. It is quick for
// sessions that nobody has open.
func HostOf(dataDir, id string) (host Host, known bool) {
	if free, err := journal.Free(dataDir, id); free || err != nil {
		return Host{}, false
	}
	state, err := journal.Load(dataDir, id)
	if err != nil || !state.Open || proc.Find(state.Host.Process) != proc.Present {
		return Host{}, false
	}
	return Host{state.Host.PID, state.Host.Face, state.Host.Settle}, true
}

// deaf is a [jsonrpc.Handler]: a host asks nothing.
type deaf struct{}

// Handle implements [jsonrpc.Handler].
func (deaf) Handle(_ context.Context, r *jsonrpc.Request) { r.Fail(jsonrpc.MethodNotFound(r.Method)) }

// join connects to the host.
func (s *Session) join(ctx context.Context, after *uint64) (net.Conn, answer, error) {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	var hello answer
	conn, err := hostsocket.Dial(ctx, s.dataDir, s.state.Host.Process, func(conn net.Conn) error {
		hello = answer{}
		if err := hostsocket.Ask(conn, request{s.state.Session, after}, &hello, maxGreeting); err != nil {
			return err
		}
		if hello.Host == nil {
			return hostsocket.ErrNoAnswer
		}
		return nil
	})
	if err != nil {
		return nil, hello, fmt.Errorf("cannot join session %q: %w", s.state.Session, err)
	}
	return conn, hello, nil
}

// Close leaves the session, which goes on.
func (s *Session) Close() error {
	s.end()
	err := s.conn.Close()
	<-s.calls.Ended()
	return err
}

// ID returns the session's id.
func (s *Session) ID() string { return s.state.Session }

// Host is the process that hosts it.
func (s *Session) Host() Host { return s.host }

// State is a copy of the session's state as it was when it was joined.
func (s *Session) State() event.State { return s.state.Clone() }

// Settings are what the next turn works with, as far as the host has said.
func (s *Session) Settings() Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings
}

// Events yields the session's events after the cursor, and then those that come,
// until ctx ends, the session is left, or its host has closed it or is gone. What the host
// has written before that is among them.
func (s *Session) Events(ctx context.Context, cursor uint64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.life, cancel)()
		f := stream{session: s, cursor: cursor, yield: yield}
		for f.more = true; f.more; {
			if f.follow(ctx); !f.more && !f.stopped {
				f.more = s.stays(ctx)
			}
		}
		if f.stopped || ctx.Err() != nil {
			return
		}
		for e, err := range journal.Read(ctx, s.dataDir, s.state.Session, f.cursor) {
			if ctx.Err() != nil || !yield(e, err) {
				return
			}
		}
	}
}

// rejoinDelay is how long to wait for a host that did not let the guest in and is
// still there: one that is stopped, or has too much to do.
const rejoinDelay = 250 * time.Millisecond

// stays reports whether the host is still there after a while: the connection for
// calls ends with the session, and with the host.
func (s *Session) stays(ctx context.Context) bool {
	delay := time.NewTimer(rejoinDelay)
	defer delay.Stop()
	select {
	case <-s.calls.Ended():
		return false
	case <-ctx.Done():
		return false
	case <-delay.C:
		return true
	}
}

// stream is what Events yields.
type stream struct {
	session *Session
	cursor  uint64
	yield   func(event.Event, error) bool
	more    bool // the host may have more
	stopped bool // nobody wants more
}

// follow takes what comes over one connection. A connection that was cut after it
// has brought something is made anew.
func (f *stream) follow(ctx context.Context) {
	f.more = false
	conn, hello, err := f.session.join(ctx, &f.cursor)
	if err != nil {
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	f.session.learn(&hello.Settings)
	in := jsonrpc.NewLineReader(conn, maxLine)
	for {
		line, err := in.Next()
		if err != nil || line.Cut || ctx.Err() != nil {
			return
		}
		e, settings, err := parse(line.Text)
		switch {
		case err != nil:
			return
		case settings != nil:
			f.session.learn(settings)
			continue
		case e.Seq <= f.cursor:
			continue
		}
		f.cursor, f.more = e.Seq, true
		f.session.confirm(e)
		if !f.yield(e, nil) {
			f.more, f.stopped = false, true
			return
		}
	}
}

func (s *Session) learn(settings *Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings = *settings
}

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

// joinTimeout bounds the host's answer to a join request.
const joinTimeout = 2 * time.Second

// ErrNotHosted reports that no process with a control socket hosts the session.
var ErrNotHosted = errors.New("no other process hosts the session")

// Session is a session of another process. Several goroutines call its methods.
type Session struct {
	dataDir string
	state   event.State // the state at the start
	host    Host
	conn    net.Conn // for calls
	calls   *jsonrpc.Conn
	life    context.Context // the session's own context, until Close
	end     context.CancelFunc

	mu       sync.Mutex // guards the fields below
	settings Settings
	unsure   submission // the last unanswered input
	// accepted has the inputs whose calls have no answer yet, and whether the host accepted them.
	accepted map[string]bool
}

// Open joins the session of another process. The error is [ErrNotHosted], or explains why the
// session cannot be joined. The caller closes the session.
func Open(ctx context.Context, dataDir, id string) (*Session, error) {
	if free, err := journal.Free(dataDir, id); free || err != nil {
		return nil, errors.Join(ErrNotHosted, err)
	}
	state, err := journal.Load(dataDir, id)
	if err != nil {
		return nil, err
	}
	state.Session = id
	s := &Session{dataDir: dataDir, state: state, accepted: map[string]bool{}}
	var hello answer
	if s.conn, hello, err = s.join(ctx, nil); err != nil {
		return nil, err
	}
	s.begin(hello)
	return s, nil
}

// begin starts the connection for calls, after the host's first line.
func (s *Session) begin(hello answer) {
	s.host, s.settings = *hello.Host, hello.Settings
	s.life, s.end = context.WithCancel(context.Background())
	s.calls = jsonrpc.New(jsonrpc.Options{In: s.conn, Out: s.conn, Handler: deaf{}, MaxFrame: maxMessage})
	s.calls.Start(s.life)
}

// HostOf returns the process that hosts the session, if it is visible. It is fast for sessions
// without a host.
func HostOf(dataDir, id string) (host Host, known bool) {
	if free, err := journal.Free(dataDir, id); free || err != nil {
		return Host{}, false
	}
	state, err := journal.Load(dataDir, id)
	if err != nil {
		return Host{}, false
	}
	return HostIn(state)
}

// HostIn is [HostOf] for the state of a session that a process holds.
func HostIn(state event.State) (host Host, known bool) {
	if !state.Open || proc.Find(state.Host.Process) != proc.Present {
		return Host{}, false
	}
	return Host{state.Host.PID, state.Host.Frontend, state.Host.Settle}, true
}

// deaf is a [jsonrpc.Handler] that rejects calls: a host sends none.
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

// Close disconnects; the session continues.
func (s *Session) Close() error {
	s.end()
	err := s.conn.Close()
	<-s.calls.Ended()
	return err
}

// ID returns the session's id.
func (s *Session) ID() string { return s.state.Session }

// Host returns the hosting process.
func (s *Session) Host() Host { return s.host }

// State returns a copy of the session's state at the time of Open.
func (s *Session) State() event.State { return s.state.Clone() }

// Settings returns the settings of the next turn, as last reported by the host.
func (s *Session) Settings() Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings
}

// Events yields the session's events after the cursor, and then new ones, until ctx ends, the
// session is closed on either side, or the host has ended. It includes all events that the host
// has written before.
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

// rejoinDelay is the pause before another attempt to join a host that is stopped or overloaded.
const rejoinDelay = 250 * time.Millisecond

// stays reports whether the host is alive after a pause: the connection for calls ends with the
// session, and with the host.
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

// stream is the state of Events.
type stream struct {
	session *Session
	cursor  uint64
	yield   func(event.Event, error) bool
	more    bool // the host can have more events
	stopped bool // the consumer has stopped
}

// follow yields the events of one connection. After an interruption, Events connects again.
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

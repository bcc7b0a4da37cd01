package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
)

// Options are what a connection needs. In, Out and Handler must be set.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Dialect Dialect // V2 if empty
	Handler Handler

	// MaxFrame bounds a message that comes in, in bytes; 0 means 64 MiB. A longer
	// one is refused, and the next one is read.
	MaxFrame int
	// MaxInFlight bounds the requests that are open; 0 means 256. Further ones
	// are answered with Overloaded; nil means a plain error of its own.
	MaxInFlight int
	Overloaded  *Error
	// MaxQueue bounds what waits to be written, in bytes; 0 means 1 MiB. Where it
	// is reached, notifications and calls wait. Answers do not; where they
	// exceed it by 16 times, the connection fails.
	MaxQueue int

	// Linger keeps the connection open at the end of In, for notifications that are
	// still to come, until Close.
	Linger bool

	Logger *slog.Logger // for what the other side does wrong; nil is silent
}

// unreadFactor is how many times MaxQueue answers may take.
const unreadFactor = 16

// Conn is a connection.
type Conn struct {
	o      Options
	ctx    context.Context //nolint:containedctx // that of requests, which the reader hands on
	cancel context.CancelCauseFunc
	wake   chan struct{} // holds one token when there is something to write
	ended  chan struct{} // closed when nothing more comes in, by update alone
	done   chan struct{} // closed when the connection is done, by update alone

	mu sync.Mutex // guards s
	s  state      // changed by update alone
}

// state is all that decides about the life of a connection.
type state struct {
	readErr  error // why nothing more comes in; io.EOF for the plain end
	writeErr error // why nothing more goes out
	closing  bool  // Close was called, or the context ended
	lingers  bool  // the end of the input is not the end; never changes
	done     bool

	open     map[string]*Request // requests to be answered, by id
	calls    map[int64]*Outgoing // requests that wait for an answer, by id
	lastCall int64

	queue   []byte        // frames to be written
	writing int           // bytes that the writer is writing
	room    chan struct{} // closed when there is room again; nil while nobody waits
}

// idle reports whether there is nothing to answer and nothing to write.
func (s *state) idle() bool { return len(s.open) == 0 && len(s.queue) == 0 && s.writing == 0 }

// deaf reports whether nothing more comes in.
func (s *state) deaf() bool { return s.readErr != nil || s.closing || s.writeErr != nil }

// finished reports whether the connection is done.
func (s *state) finished() bool {
	return s.writeErr != nil || s.deaf() && s.idle() && (s.closing || !s.lingers)
}

// New returns a connection that Start starts.
func New(o Options) *Conn {
	if o.Dialect == "" {
		o.Dialect = V2
	}
	if o.MaxFrame == 0 {
		o.MaxFrame = 64 << 20
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = 256
	}
	if o.MaxQueue == 0 {
		o.MaxQueue = 1 << 20
	}
	if o.Overloaded == nil {
		o.Overloaded = Errorf(CodeOverloaded, "%d requests are open already", o.MaxInFlight)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Conn{
		o: o, ctx: context.Background(), cancel: func(error) {},
		wake: make(chan struct{}, 1), ended: make(chan struct{}), done: make(chan struct{}),
		s: state{lingers: o.Linger, open: map[string]*Request{}, calls: map[int64]*Outgoing{}},
	}
}

// Start begins to read and to write. When ctx ends, the connection closes, as
// with Close.
func (c *Conn) Start(ctx context.Context) {
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	select {
	case <-c.done: // closed before it began
		c.cancel(ErrClosed)
		return
	default:
	}
	go c.read()  // Wait waits for what it has to say; it ends with In, or at the first message after the connection is done
	go c.write() // Wait waits for it, unless Write does not return; it ends when the connection is done
	context.AfterFunc(ctx, func() { c.shut(context.Cause(ctx)) })
}

// update changes the state, and is the only place that does, and the only one
// that decides whether the connection is done.
func (c *Conn) update(change func(*state)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.s
	before := s.deaf()
	change(s)
	if s.deaf() && !before {
		close(c.ended)
	}
	if s.deaf() {
		for id, o := range s.calls { // nobody will answer
			delete(s.calls, id)
			o.settle(nil, ErrClosed)
		}
	}
	if s.room != nil && (s.writeErr != nil || len(s.queue)+s.writing < c.o.MaxQueue) {
		close(s.room)
		s.room = nil
	}
	if !s.done && s.finished() {
		s.done = true
		c.cancel(s.why())
		close(c.done)
	}
}

// why says why the connection is done.
func (s *state) why() error {
	switch {
	case s.writeErr != nil:
		return s.writeErr
	case s.readErr != nil && !errors.Is(s.readErr, io.EOF):
		return s.readErr
	default:
		return ErrClosed
	}
}

// Ended is closed when nothing more comes in. Requests that are open may still
// be answered.
func (c *Conn) Ended() <-chan struct{} { return c.ended }

// Unread reports whether nothing more goes out, since it cannot be written or
// nobody reads it.
func (c *Conn) Unread() (unread bool) {
	c.update(func(s *state) { unread = s.writeErr != nil })
	return unread
}

// Done is closed when nothing more comes in or goes out.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Wait waits until the connection is done, or ctx ends. It is done after the end
// of the input, or a Close, when all requests are answered and all answers are
// written, and at once where they cannot be. The error says what went wrong.
func (c *Conn) Wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.failure()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// failure returns what went wrong with a connection that is done.
func (c *Conn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.s.why(); !errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

// Close ends the connection: nothing more is read, the contexts of requests end,
// and Close waits until they are answered and everything is written. If ctx ends
// first, what is not written is lost, and the error says so.
//
// Where Read of In or Write of Out does not return, goroutines stay until they
// do: whoever owns In and Out closes them.
func (c *Conn) Close(ctx context.Context) error {
	c.shut(ErrClosed)
	select {
	case <-c.done:
		return c.failure()
	case <-ctx.Done():
	}
	err := fmt.Errorf("cannot write what was to be said before the connection closed: %w", context.Cause(ctx))
	c.update(func(s *state) {
		if s.writeErr == nil && !s.done {
			s.writeErr = err
		}
	})
	return c.failure()
}

func (c *Conn) shut(why error) {
	c.update(func(s *state) { s.closing = true })
	c.cancel(why)
}

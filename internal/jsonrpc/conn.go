package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/settle-agent/settle/internal/scope"
)

// Options configure a connection. In, Out and Handler must be set.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Dialect Dialect // V2 if empty
	Handler Handler

	// MaxFrame bounds an incoming message in bytes; 0 means 64 MiB. The connection
	// refuses a longer message and continues with the next one.
	MaxFrame int
	// MaxInFlight bounds the number of open requests; 0 means 256. Further requests
	// are answered with Overloaded; nil means a default error.
	MaxInFlight int
	Overloaded  *Error
	// MaxQueue bounds the write queue in bytes; 0 means 1 MiB. Notifications and calls
	// wait for room. Answers do not wait; if they exceed MaxQueue 16 times, the
	// connection fails.
	MaxQueue int

	// Linger keeps the connection open after the end of In until Close, for later
	// notifications.
	Linger bool

	Logger *slog.Logger // for faults of the peer; nil discards them
}

// unreadFactor is the bound of queued answers, as a multiple of MaxQueue.
const unreadFactor = 16

// Conn is a connection.
type Conn struct {
	o      Options
	ctx    context.Context // the context of requests, which the reader passes on
	cancel context.CancelCauseFunc
	wake   chan struct{} // holds one token if the queue is not empty
	ended  chan struct{} // closed by update at the end of the input
	done   chan struct{} // closed by update when the connection is done

	mu sync.Mutex // guards s
	s  state      // changed only by update
}

// state is the whole state that determines the life of a connection.
type state struct {
	readErr  error // cause of the end of the input; io.EOF for a plain end
	writeErr error // cause of the end of the output
	closing  bool  // Close was called, or the context ended
	lingers  bool  // Options.Linger; never changes
	done     bool

	open     map[string]*Request // unanswered requests, by id
	calls    map[int64]*Outgoing // sent requests without an answer, by id
	lastCall int64

	queue   []byte        // frames to be written
	writing int           // bytes that the writer is writing
	room    chan struct{} // closed when the queue has room; nil if no sender waits
}

// idle reports whether no request is unanswered and the queue is empty.
func (s *state) idle() bool { return len(s.open) == 0 && len(s.queue) == 0 && s.writing == 0 }

// inputEnded reports whether the connection reads no further message.
func (s *state) inputEnded() bool { return s.readErr != nil || s.closing || s.writeErr != nil }

// finished reports whether the connection is done.
func (s *state) finished() bool {
	return s.writeErr != nil || s.inputEnded() && s.idle() && (s.closing || !s.lingers)
}

// New returns a connection; Start starts it.
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

// Start starts reading and writing. The end of ctx closes the connection, as Close does.
func (c *Conn) Start(ctx context.Context) {
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	select {
	case <-c.done: // closed before the start
		c.cancel(ErrClosed)
		return
	default:
	}
	go scope.Shield(
		c.panicked, c.read,
	)() // ends with In, or at the first message after the connection is done; Wait waits for its last answers
	go scope.Shield(
		c.panicked, c.write,
	)() // ends when the connection is done; Wait waits for it, unless Write does not return
	context.AfterFunc(ctx, scope.Shield(c.panicked, func() { c.shut(context.Cause(ctx)) }))
}

// update is the only function that changes the state and that decides whether the
// connection is done.
func (c *Conn) update(change func(*state)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.s
	before := s.inputEnded()
	change(s)
	if s.inputEnded() && !before {
		close(c.ended)
	}
	if s.inputEnded() {
		for id, o := range s.calls { // no answer can follow
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

// why returns the cause of the connection's end.
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

// Ended is closed at the end of the input. Answers to open requests can still follow.
func (c *Conn) Ended() <-chan struct{} { return c.ended }

// Unread reports whether the output has ended, because writing failed or the peer does
// not read.
func (c *Conn) Unread() (unread bool) {
	c.update(func(s *state) { unread = s.writeErr != nil })
	return unread
}

// Done is closed at the end of both input and output.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Wait waits until the connection is done, or ctx ends. After the end of the input or
// Close, the connection is done when all requests are answered and all answers are
// written, or at once if writing is impossible. The error is the cause of a failure.
func (c *Conn) Wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.failure()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// failure returns the error of a connection that is done, or nil.
func (c *Conn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.s.why(); !errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

// Close ends the connection: it stops reading, ends the contexts of requests, and waits
// until all requests are answered and the queue is written. If ctx ends first, the rest
// of the queue is lost, and the error reports this.
//
// While Read of In or Write of Out does not return, their goroutines remain: the owner
// of In and Out must close them.
func (c *Conn) Close(ctx context.Context) error {
	c.shut(ErrClosed)
	select {
	case <-c.done:
		return c.failure()
	case <-ctx.Done():
	}
	err := fmt.Errorf("cannot write the remaining messages before the connection closed: %w", context.Cause(ctx))
	c.update(func(s *state) {
		if s.writeErr == nil && !s.done {
			s.writeErr = err
		}
	})
	return c.failure()
}

// panicked ends the connection because of a defect of its handler, In or Out.
func (c *Conn) panicked(err error) {
	scope.LogPanic(c.o.Logger, nil, "a connection panicked", err)
	c.update(func(s *state) {
		if s.writeErr == nil && !s.done {
			s.writeErr = err // nothing can be answered any more
		}
	})
	c.Break(err)
}

func (c *Conn) shut(why error) {
	c.update(func(s *state) { s.closing = true })
	c.cancel(why)
}

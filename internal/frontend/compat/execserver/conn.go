package execserver

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/scope"
)

// carrier carries whole messages. One goroutine reads; writes and pings may come
// from several.
type carrier interface {
	// Read returns the next message; io.EOF is the end.
	Read(ctx context.Context) ([]byte, error)
	Write(ctx context.Context, message []byte) error
	// Ping returns when the client has taken all that was written before.
	Ping(ctx context.Context) error
	Close(reason string)
}

const (
	// maxRequests and maxRequestBytes bound the running requests of a connection, in number and
	// bytes; then its client waits.
	maxRequests     = 256
	maxRequestBytes = 64 << 20
	// windowBytes bounds the output on its way to a client that has not confirmed it, in bytes.
	windowBytes = 4 << 20
)

// conn is one connection of a client.
type conn struct {
	server   *Server
	carrier  carrier
	files    handles
	stop     context.CancelCauseFunc
	writable chan struct{} // has room for one: there is something to write

	session *session // set by initialize; the reader's
	ready   bool     // the client has said "initialized"

	mu          sync.Mutex // guards the rest
	attached    *session   // the session, for the writer
	answers     [][]byte
	requests    int // that have no written answer yet, and their bytes
	bytes       int
	freed       chan struct{} // closed and replaced when one is answered
	unconfirmed int           // bytes of output that the client may not have
	marks       map[*process]uint64
	pinging     bool
	work        sync.WaitGroup // work that the reader has begun
}

// serve serves a connection to its end.
func (s *Server) serve(ctx context.Context, wire carrier) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := &conn{
		server:   s,
		carrier:  wire,
		stop:     stop,
		writable: make(chan struct{}, 1),
		freed:    make(chan struct{}),
		marks:    map[*process]uint64{},
	}
	if !s.enter(c) {
		wire.Close("the server is ending")
		return nil
	}
	defer s.leave(c)
	c.work.Go(scope.Shield(c.panicked, func() { c.write(ctx) }))     // ends with ctx
	c.work.Go(scope.Shield(c.panicked, func() { c.keepAlive(ctx) })) // ends with ctx
	err := scope.Guard(func() error { return c.read(ctx) })
	if c.session != nil {
		c.session.detach(c)
	}
	if errors.Is(err, io.EOF) {
		c.drain(ctx)
	}
	stop(err)
	wire.Close("")
	c.work.Wait()
	c.files.closeAll()
	if cause := context.Cause(ctx); errors.Is(err, context.Canceled) && cause != nil {
		err = cause
	}
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		err = nil
	}
	return err
}

// cut ends a connection whose client does not matter any more.
func (c *conn) cut(reason string) {
	c.stop(errors.New(reason))
	c.carrier.Close(reason)
}

// wake has the writer look for something to write.
func (c *conn) wake() {
	select {
	case c.writable <- struct{}{}:
	default:
	}
}

// read takes messages in until the client is gone or breaks the protocol.
func (c *conn) read(ctx context.Context) error {
	for {
		data, err := c.carrier.Read(ctx)
		if err != nil {
			return err
		}
		m, what, err := parse(data)
		if err != nil {
			if !c.begin(ctx, 0) {
				return context.Cause(ctx)
			}
			c.reply([]byte(noID), 0, nil, err)
			continue
		}
		switch what {
		case notification:
			if err := c.note(*m.Method); err != nil {
				return err
			}
		case response:
			return errors.New("the client answered a request that the server did not send")
		case request:
			if !c.begin(ctx, len(data)) {
				return context.Cause(ctx)
			}
			c.dispatch(ctx, m, len(data))
		}
	}
}

// begin takes a place for a request. It waits until there is one.
func (c *conn) begin(ctx context.Context, bytes int) bool {
	for {
		c.mu.Lock()
		free := c.requests == 0 || c.requests < maxRequests && c.bytes+bytes <= maxRequestBytes
		freed := c.freed
		if free {
			c.requests++
			c.bytes += bytes
		}
		c.mu.Unlock()
		if free {
			return true
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return false
		}
	}
}

// reply answers a request of so many bytes.
func (c *conn) reply(id []byte, bytes int, result any, err error) {
	text := answer(id, result, err)
	c.mu.Lock()
	c.answers = append(c.answers, text)
	c.bytes -= bytes
	c.mu.Unlock()
	c.wake()
}

// next returns the next answer to write.
func (c *conn) next() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answers) == 0 {
		return nil
	}
	text := c.answers[0]
	c.answers = c.answers[1:]
	return text
}

// answered frees the place of a request whose answer was written.
func (c *conn) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests--
	close(c.freed)
	c.freed = make(chan struct{})
}

// write writes answers, and then the output of processes.
func (c *conn) write(ctx context.Context) {
	for {
		if text := c.next(); text != nil {
			if err := c.carrier.Write(ctx, text); err != nil {
				c.cut("the client cannot be reached")
				return
			}
			c.answered()
			continue
		}
		if item, ok := c.outputs(); ok {
			if err := c.carrier.Write(ctx, item.notification()); err != nil {
				c.cut("the client cannot be reached")
				return
			}
			c.wrote(ctx, item)
			continue
		}
		select {
		case <-c.writable:
		case <-ctx.Done():
			return
		}
	}
}

// outputs returns the next output to send, while the client keeps up.
func (c *conn) outputs() (parcel, bool) {
	c.mu.Lock()
	s, full := c.attached, c.unconfirmed >= windowBytes
	c.mu.Unlock()
	if s == nil || full {
		return parcel{}, false
	}
	return s.take(c)
}

// wrote counts sent output, and asks the client whether it has arrived.
func (c *conn) wrote(ctx context.Context, item parcel) {
	c.mu.Lock()
	c.unconfirmed += len(item.data) + entryCost
	c.marks[item.p] = item.seq
	ask := !c.pinging && c.unconfirmed >= windowBytes/16
	c.pinging = c.pinging || ask
	c.mu.Unlock()
	if ask {
		c.work.Go(scope.Shield(c.panicked, func() { c.confirm(ctx) })) // ends with ctx
	}
}

// confirm pings the client. After the pong, the client has received all earlier messages.
// Only one confirm runs at a time.
func (c *conn) confirm(ctx context.Context) {
	for {
		c.mu.Lock()
		marks, bytes := c.marks, c.unconfirmed
		c.marks = map[*process]uint64{}
		c.mu.Unlock()
		pingCtx, cancel := context.WithTimeout(ctx, c.server.options.PingTimeout)
		err := c.carrier.Ping(pingCtx)
		cancel()
		if err != nil {
			c.cut("the client does not answer")
			return
		}
		c.mu.Lock()
		c.unconfirmed -= bytes
		due := c.unconfirmed >= windowBytes/16
		c.pinging = due
		s := c.attached
		c.mu.Unlock()
		if s != nil {
			s.received(marks)
		}
		c.wake()
		if !due {
			return
		}
	}
}

// keepAlive finds out when the client is gone without a word.
func (c *conn) keepAlive(ctx context.Context) {
	tick := time.NewTicker(c.server.options.PingDelay)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c.mu.Lock()
		free := !c.pinging
		c.pinging = true
		c.mu.Unlock()
		if free {
			c.confirm(ctx)
		}
	}
}

// drain writes the remaining messages to a client whose input has ended, and which can
// still read. It does not wait for the client's processes.
func (c *conn) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	for {
		c.mu.Lock()
		done, freed := c.requests == 0, c.freed
		c.mu.Unlock()
		if done {
			return
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return
		}
	}
}

// panicked ends the connection with a defect that one of its goroutines met.
func (c *conn) panicked(err error) {
	scope.LogPanic(c.server.options.Logger, nil, "a connection panicked", err)
	c.stop(err)
}

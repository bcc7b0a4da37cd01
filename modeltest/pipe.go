package modeltest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
)

// Listener is a net.Listener whose connections are pipes in memory, for
// servers that run within a testing/synctest bubble.
type Listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// Listen returns a new Listener.
func Listen() *Listener {
	return &Listener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements [net.Listener].
func (l *Listener) Addr() net.Addr { return pipeAddr{} }

// DialContext connects to the listener; the address does not matter. It has
// the form that http.Transport.DialContext wants.
func (l *Listener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	reset := new(atomic.Bool)
	select {
	case l.conns <- &pipeConn{Conn: server, reset: reset}:
		return &pipeConn{Conn: client, reset: reset}, nil
	case <-l.done:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// pipeConn is an end of a pipe that can be reset as a TCP connection can.
type pipeConn struct {
	net.Conn
	reset *atomic.Bool // shared by both ends
}

// Reset closes the connection so that the other end sees a reset.
func (c *pipeConn) Reset() error {
	c.reset.Store(true)
	return c.Conn.Close()
}

// Read implements [net.Conn].
func (c *pipeConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, io.EOF) && c.reset.Load() {
		err = &net.OpError{Op: "read", Net: "pipe", Err: syscall.ECONNRESET}
	}
	return n, err
}

// Write implements [net.Conn].
func (c *pipeConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if errors.Is(err, io.ErrClosedPipe) && c.reset.Load() {
		err = &net.OpError{Op: "write", Net: "pipe", Err: syscall.ECONNRESET}
	}
	return n, err
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// NewClient returns a client whose requests, for any host, go to the
// handler over pipes in memory. Within a testing/synctest bubble all of it
// runs under the bubble's clock. The test's cleanup ends it.
func NewClient(tb TB, handler http.Handler) *http.Client {
	s := &Server{stop: make(chan struct{})}
	l := Listen()
	s.transport = &http.Transport{DialContext: l.DialContext}
	s.startWith(l, handler)
	s.closeAfter(tb)
	return s.Client()
}

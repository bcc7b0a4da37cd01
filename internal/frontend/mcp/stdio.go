package mcp

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
)

// admitTimeout bounds the wait for requests that were sent before the input ended. It is
// part of the time for the end. Requests that are not admitted by then are refused.
const admitTimeout = 400 * time.Millisecond

// Stdio serves the client at standard streams until the input ends, the output is closed, or a stop
// arrives. Then it ends all turns, answers the waiting requests, and returns an error that names
// the work that did not end in time.
func (f *Frontend) Stdio(in io.Reader, out io.Writer, stops <-chan stdio.Stop) error {
	c := newConn(in, out)
	session, err := f.server.Connect(context.Background(), c, nil)
	if err != nil {
		return fmt.Errorf("cannot serve: %w", err)
	}
	stop := stdio.Stop{Reason: event.Shutdown, By: "stdin"}
	select {
	case stop = <-stops:
	case <-c.lost:
		stop.By = "stdout"
	case <-c.eof:
	}
	began := time.Now()
	if stop.By == "stdin" {
		c.admitted()
	}
	return stdio.Shutdown{
		Close:   f.Sessions.CloseAll,
		Hurry:   stdio.Hurry(f.Sessions.All),
		Timeout: stdio.CloseTimeout - time.Since(began),
		Stops:   stops,
		Exit:    f.Exit,
		Drain: func(ctx context.Context) {
			c.drain(ctx)
			c.finish()
			stdio.Await(ctx, func() { _ = session.Wait() }) // why it ended is known
			stdio.Await(ctx, func() { c.out.Drain(func() time.Duration { return stdio.DrainTimeout }) })
			_ = c.out.Close(func() time.Duration { return 0 }) // the client has gone
		},
	}.Run(stop)
}

// admitted waits until the requests so far have taken effect, but not for long.
func (c *conn) admitted() {
	ctx, cancel := context.WithTimeout(context.Background(), admitTimeout)
	defer cancel()
	p := c.order.enter(touches)
	_ = p.wait(ctx)
	p.admit()
}

// drain waits until all requests are answered, the output is closed, or ctx ends.
func (c *conn) drain(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with drain
		select {
		case <-c.lost:
			cancel()
		case <-ctx.Done():
		}
	}()
	c.calls.Drain(ctx)
}

package mcp

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
)

const (
	// closeTimeout bounds the end of all sessions, drainTimeout then that of
	// the answers about it: together with what the process itself needs, a
	// second and a half.
	closeTimeout = 1100 * time.Millisecond
	drainTimeout = 200 * time.Millisecond
	// admitTimeout bounds the wait for what was sent before the input ended to
	// take effect.
	admitTimeout = 100 * time.Millisecond
)

// Stdio serves the client at standard streams until the input ends, nobody
// reads the output any more, or a stop comes; then it ends everything, answers
// what waits for that, and returns what did not end in time.
func (f *Face) Stdio(in io.Reader, out io.Writer, stops <-chan stdio.Stop) error {
	c := f.newConn(in, out)
	session, err := f.server.Connect(context.Background(), c, nil)
	if err != nil {
		return fmt.Errorf("cannot serve: %w", err)
	}
	reason, by := event.Shutdown, "stdin"
	select {
	case stop := <-stops:
		reason, by = stop.Reason, stop.By
	case <-c.lost:
		by = "stdout"
	case <-c.eof:
		c.admitted()
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), closeTimeout, fmt.Errorf("it took longer than %v", closeTimeout))
	defer cancel()
	err = f.Hosts.CloseAll(ctx, reason, by)
	draining, enough := context.WithTimeout(context.Background(), drainTimeout)
	defer enough()
	c.older.close(draining)
	c.drain(draining)
	c.finish()
	ended := make(chan struct{})
	go func() { // ends when all requests have been answered, or with the process
		_ = session.Wait() // why it ended is known
		close(ended)
	}()
	select {
	case <-ended:
	case <-draining.Done():
	}
	return err
}

package execserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/settle-agent/settle/internal/jsonrpc"
)

// pipes carry messages over standard streams, one on a line. They implement carrier.
type pipes struct {
	lines chan line // closed after the last one

	mu  sync.Mutex // guards out
	out io.Writer
}

type line struct {
	jsonrpc.Line

	err error
}

// newPipes returns a carrier of messages over standard streams. The goroutine that reads ends with
// the input, or with the process.
func newPipes(ctx context.Context, in io.Reader, out io.Writer) *pipes {
	p := &pipes{lines: make(chan line), out: out}
	reader := jsonrpc.NewLineReader(in, maxMessage)
	go func() {
		for {
			next, err := reader.Next()
			select {
			case p.lines <- line{next, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return p
}

// Read implements carrier. A line that is too long is none of the protocol's, and
// gets an error.
func (p *pipes) Read(ctx context.Context) ([]byte, error) {
	select {
	case next := <-p.lines:
		if next.Cut {
			return nil, nil
		}
		return next.Text, next.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements carrier.
func (p *pipes) Write(_ context.Context, message []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.out.Write(append(message, '\n'))
	return err
}

// Ping implements carrier: written data is in the pipe, and cannot be lost.
func (p *pipes) Ping(context.Context) error { return nil }

// Close implements carrier. The streams are the program's.
func (p *pipes) Close(string) {}

// ServeStreams serves the client at standard streams until its input ends, or ctx.
func (s *Server) ServeStreams(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := s.serve(ctx, newPipes(ctx, in, out)); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("cannot serve the client: %w", err)
	}
	return nil
}

package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// maxLine bounds a message in bytes.
	maxLine = 16 << 20
	// maxWaiting bounds the unprocessed messages.
	maxWaiting = 16
	// maxUnsent bounds the messages that a server has not read.
	maxUnsent = 256
	// writeTimeout bounds a server's time to read a message.
	writeTimeout = 30 * time.Second
	// exitDelay is a server's time to exit after it stopped reading.
	exitDelay = time.Second
	// endTimeout bounds the wait for the end of a server's processes.
	endTimeout = 5 * time.Second
	// maxComplaint bounds the stored end of a server's standard error in bytes.
	maxComplaint = 2 << 10
)

// pipe is the connection to a local server on its standard streams. It implements
// [sdk.Connection].
type pipe struct {
	filter

	process   *proc.Process
	lines     chan []byte
	outgoing  chan []byte
	complaint proc.Tail         // end of its standard error
	queue     []jsonrpc.Message // of a batch; only Read uses it

	ended     chan struct{} // closed when lines has all output from before the exit
	closed    <-chan struct{}
	cut       context.CancelFunc // closes closed
	drained   chan struct{}      // closed when no process and no goroutine is left
	survivors []string           // valid after drained is closed

	mu  sync.Mutex // guards the fields below
	why error      // reason of the end
}

// startPipe starts the server. ctx bounds the start alone.
func startPipe(ctx context.Context, spec proc.Spec,
	start func(context.Context, proc.Spec) (*proc.Process, error),
) (*pipe, error) {
	life, cut := context.WithCancel(context.WithoutCancel(ctx))
	c := &pipe{
		lines: make(chan []byte, maxWaiting), outgoing: make(chan []byte, maxUnsent),
		ended: make(chan struct{}), closed: life.Done(), cut: cut, drained: make(chan struct{}),
		complaint: proc.Tail{Max: maxComplaint},
	}
	spec.Input, spec.Stdout, spec.Stderr = proc.PipeInput, &splitter{to: c}, &c.complaint
	var err error
	if c.process, err = start(ctx, spec); err != nil {
		cut()
		return nil, err
	}
	var writing sync.WaitGroup
	writing.Go(func() { c.write(life) }) // ends when the connection is closed
	go func() {                          // ends with the process; callers of Close wait for drained
		defer close(c.drained)
		c.keep()
		writing.Wait()
	}()
	return c, nil
}

// keep waits for the server's exit or for the end of the connection, then ends all
// descendants.
func (c *pipe) keep() {
	select {
	case <-c.process.Exited():
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		exit, _ := c.process.Wait(ctx) // C8: waits for its output, not for its pipes
		cancel()
		c.note(fmt.Errorf("the server exited with code %d%s", exit.Code, c.complained()))
		close(c.ended)
		c.cut()
	case <-c.closed:
	}
	_ = c.process.CloseInput()
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	for _, p := range c.process.End(ctx, proc.DefaultGrace) { // C7
		c.survivors = append(c.survivors, fmt.Sprintf("process %d (%s): %s", p.PID, p.Command, p.Why))
	}
}

// fail ends the connection with the first reason. Output from before the server's exit can
// still be read.
func (c *pipe) fail(why error) {
	c.note(why)
	c.cut()
}

func (c *pipe) note(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = why
	}
}

// failure is the reason of the end.
func (c *pipe) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

func (c *pipe) complained() string {
	if text := terminal.OneLine(c.complaint.String()); text != "" {
		return "; its standard error ends: " + text
	}
	return ""
}

var errClosed = errors.New("the connection is closed")

// Close implements sdk.Connection.
func (c *pipe) Close() error {
	c.fail(errClosed)
	return nil
}

// SessionID implements sdk.Connection.
func (c *pipe) SessionID() string { return "" }

// Write implements sdk.Connection. It does not wait until the server reads.
func (c *pipe) Write(_ context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("cannot encode a message: %w", err)
	}
	c.filter.sent(m)
	select {
	case <-c.closed:
		return sdk.ErrConnectionClosed
	default:
	}
	select {
	case c.outgoing <- append(data, '\n'):
		return nil
	default:
		c.fail(fmt.Errorf("the server does not read what it is sent%s", c.complained()))
		return sdk.ErrConnectionClosed
	}
}

// write writes the queued messages until the connection is closed, which ends life.
func (c *pipe) write(life context.Context) {
	for {
		select {
		case data := <-c.outgoing:
			ctx, cancel := context.WithTimeout(life, writeTimeout)
			err := c.process.Write(ctx, data)
			cancel()
			if err != nil {
				c.unread()
				return
			}
		case <-c.closed:
			return
		}
	}
}

// unread ends the connection to a server that does not read. If the server is about to
// exit, the exit is the reason.
func (c *pipe) unread() {
	timer := time.NewTimer(exitDelay)
	defer timer.Stop()
	select {
	case <-c.process.Exited():
	case <-c.closed:
	case <-timer.C:
		c.fail(fmt.Errorf("the server does not read what it is sent%s", c.complained()))
	}
}

// Read implements sdk.Connection. It skips invalid messages, within limits.
func (c *pipe) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.queue) == 0 {
			line, err := c.next(ctx)
			if err != nil {
				return nil, err
			}
			messages, err := decode(line)
			if err != nil {
				if why := c.filter.skip(line); why != nil {
					c.fail(why)
				}
				continue
			}
			c.queue = messages
			continue
		}
		m := c.queue[0]
		c.queue = c.queue[1:]
		pass, why := c.filter.admit(m)
		if why != nil {
			c.fail(why)
			continue
		}
		if pass {
			return m, nil
		}
	}
}

// next returns the next line, also lines from before the server's exit.
func (c *pipe) next(ctx context.Context) ([]byte, error) {
	select {
	case line := <-c.lines:
		return line, nil
	case <-c.ended:
	case <-c.closed:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case <-c.ended: // no more lines follow
	default:
		return nil, io.EOF
	}
	select {
	case line := <-c.lines:
		return line, nil
	default:
		return nil, io.EOF
	}
}

// splitter splits a server's output into lines. If no goroutine reads them, it blocks the
// server until the connection is closed.
type splitter struct {
	to   *pipe
	line []byte
}

// Write implements io.Writer; proc calls it from one goroutine.
func (s *splitter) Write(data []byte) (int, error) {
	all := len(data)
	for len(data) > 0 {
		part, rest, complete := bytes.Cut(data, []byte{'\n'})
		if len(s.line)+len(part) > maxLine {
			s.line = nil
			s.to.fail(fmt.Errorf("the server sent a line of more than %d bytes", maxLine))
			return all, nil
		}
		s.line = append(s.line, part...)
		if data = rest; !complete {
			break
		}
		line := bytes.TrimSpace(s.line)
		s.line = nil
		if len(line) == 0 {
			continue
		}
		select {
		case s.to.lines <- line:
		case <-s.to.closed:
			return all, nil
		}
	}
	return all, nil
}

// Connect implements sdk.Transport.
func (c *pipe) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// end implements connection.
func (c *pipe) end(ctx context.Context) error {
	c.fail(errClosed)
	select {
	case <-c.drained:
	case <-ctx.Done():
		return fmt.Errorf("cannot wait for the server's processes to end: %w", context.Cause(ctx))
	}
	if len(c.survivors) > 0 {
		return fmt.Errorf("cannot end %s", strings.Join(c.survivors, ", "))
	}
	return nil
}

package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// startTimeout bounds the start of a server until it has answered the first request.
	startTimeout = 30 * time.Second
	// writeTimeout bounds a server's time to read a message.
	writeTimeout = 30 * time.Second
	// exitDelay bounds the time until a server exits after its streams ended, and until its last
	// output arrives.
	exitDelay = time.Second
	// endTimeout bounds the wait for the end of a server's processes.
	endTimeout = 5 * time.Second
	// maxComplaint bounds the stored end of a server's standard error in bytes.
	maxComplaint = 1 << 10
)

// connection is a running server.
type connection struct {
	found *published

	process   *proc.Process
	rpc       *jsonrpc.Conn
	cut       context.CancelFunc // ends the connection
	complaint proc.Tail
	drained   chan struct{} // closed when no process is left
	sent      int           // messages about files, including the message that ends the start; only the owner uses it
	survivors []string      // valid after drained is closed

	mu  sync.Mutex // guards why
	why error      // first reason of the end
}

// connect starts a server and sends it the first request. life bounds the connection, ctx
// the start.
func connect(ctx, life context.Context, c *Config, l Language, start starter) (*connection, error) {
	life, cut := context.WithCancel(life)
	conn := &connection{
		found: newPublished(l.Work), cut: cut, drained: make(chan struct{}), complaint: proc.Tail{Max: maxComplaint},
	}
	out, in := io.Pipe()
	spec := proc.Spec{
		Argv: append([]string{l.program}, l.Args...), Dir: c.Dir, Env: proc.Overlay(c.Env(), l.Env), Marker: c.Marker,
		Lock: c.Lock, Input: proc.PipeInput, Stdout: in, Stderr: &conn.complaint,
	}
	var err error
	if conn.process, err = start(ctx, spec); err != nil {
		cut()
		return nil, err
	}
	conn.rpc = jsonrpc.New(jsonrpc.Options{
		In: &unframer{in: bufio.NewReaderSize(out, 64<<10), fail: conn.fail},
		Out: &framer{to: func(data []byte) error {
			ctx, cancel := context.WithTimeout(life, writeTimeout)
			defer cancel()
			return conn.process.Write(ctx, data)
		}},
		Handler: conn, MaxFrame: maxMessage + 1, MaxQueue: 4 << 20, Logger: slog.New(slog.DiscardHandler),
	})
	conn.rpc.Start(life)
	go scope.Shield(func(error) {}, func() { // ends when the server or the session does; end waits for it
		defer close(conn.drained)
		conn.keep(life, out, in)
	})()
	if err := conn.initialize(ctx, c, l); err != nil {
		conn.cut()
		<-conn.drained
		return nil, errors.Join(err, conn.left())
	}
	return conn, nil
}

// keep waits for the end of the server, or of the connection, and ends all its processes
// (C7).
func (c *connection) keep(life context.Context, out *io.PipeReader, in *io.PipeWriter) {
	select {
	case <-c.process.Exited():
		c.exited()
	case <-c.rpc.Done():
		c.exitsOr("it does not read what it is sent")
	case <-c.rpc.Ended():
		c.exitsOr("it closed its output")
	case <-life.Done():
	}
	c.cut()
	_ = c.process.CloseInput()
	_ = out.CloseWithError(io.EOF) // its output is discarded from here on
	ctx, cancel := context.WithTimeout(context.WithoutCancel(life), endTimeout)
	defer cancel()
	for _, p := range c.process.End(ctx, proc.DefaultGrace) {
		c.survivors = append(c.survivors, fmt.Sprintf("process %d (%s): %s", p.PID, p.Command, p.Why))
	}
	_ = in.Close()
	_ = c.rpc.Close(ctx)
}

// exited records the server's exit as the reason, with the end of its standard error.
func (c *connection) exited() {
	ctx, cancel := context.WithTimeout(context.Background(), exitDelay)
	defer cancel()
	exit, err := c.process.Wait(ctx) // also for the server's last output
	if err != nil {
		exit = c.process.Exit()
	}
	c.fail(fmt.Errorf("it exited with code %d%s", exit.Code, c.complained()))
}

// exitsOr records the exit of a server that is about to exit, or else the reason.
func (c *connection) exitsOr(why string) {
	timer := time.NewTimer(exitDelay)
	defer timer.Stop()
	select {
	case <-c.process.Exited():
		c.exited()
	case <-timer.C:
		c.fail(errors.New(why + c.complained()))
	}
}

// left reports processes that did not end; nil for none.
func (c *connection) left() error {
	if len(c.survivors) == 0 {
		return nil
	}
	return fmt.Errorf("cannot end %s", strings.Join(c.survivors, ", "))
}

// isOver reports whether the connection has ended.
func (c *connection) isOver() bool {
	select {
	case <-c.drained:
		return true
	default:
		return c.rpc.Unread() || c.failure() != nil
	}
}

// fail records the first reason of the end.
func (c *connection) fail(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = why
	}
}

func (c *connection) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

func (c *connection) complained() string {
	if text := terminal.OneLine(c.complaint.String()); text != "" {
		return "; its standard error ends: " + text
	}
	return ""
}

// initialize sends the first request and waits for its answer.
func (c *connection) initialize(ctx context.Context, config *Config, l Language) error {
	err := c.call(ctx, "initialize", initializeParams(config.Dir, config.Version, l.Options), nil)
	if err != nil {
		return err
	}
	return c.notify(ctx, "initialized", map[string]any{})
}

// notify sends a message for which a server reports its work: a message about files, or the message
// that ends the start.
func (c *connection) notify(ctx context.Context, method string, params any) error {
	c.sent++
	return c.rpc.Notify(ctx, method, params)
}

// call sends a request and waits for the answer. The error names why the server ended, if
// it did.
func (c *connection) call(ctx context.Context, method string, params, result any) error {
	err := c.rpc.Call(ctx, method, params, result)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if why := c.reason(); why != nil {
		return why
	}
	return errors.New(clip(terminal.OneLine(err.Error()), maxText)) // also an error that the server sent
}

// reason returns why the connection ended; nil if it has not.
func (c *connection) reason() error {
	select {
	case <-c.rpc.Ended():
		<-c.drained // within a deadline
	default:
	}
	return c.failure()
}

// Handle implements [jsonrpc.Handler]: it never blocks.
func (c *connection) Handle(_ context.Context, r *jsonrpc.Request) {
	if n := len(r.ID) + len(r.Method) + len(r.Params); n > maxUnasked {
		c.fail(fmt.Errorf("it sent %d bytes with %q; at most %d are read",
			n, clip(terminal.OneLine(r.Method), 100), maxUnasked))
		c.cut()
		return
	}
	switch {
	case r.Method == "textDocument/publishDiagnostics":
		var d publication
		if json.Unmarshal(r.Params, &d) == nil {
			c.found.add(d)
		}
	case r.Method == "$/progress":
		var p progress
		if json.Unmarshal(r.Params, &p) == nil {
			c.found.report(p)
		}
	case r.IsNotification():
	case r.Method == "workspace/configuration":
		var request struct {
			Items []json.RawMessage `json:"items"`
		}
		_ = json.Unmarshal(r.Params, &request)
		r.Reply(make([]any, min(len(request.Items), 1000))) // null: the server's defaults
	case r.Method == "workspace/applyEdit": // servers change no files
		r.Reply(map[string]bool{"applied": false})
	case r.Method == "client/registerCapability", r.Method == "client/unregisterCapability",
		r.Method == "window/workDoneProgress/create", r.Method == "window/showMessageRequest",
		r.Method == "workspace/workspaceFolders":
		r.Reply(nil)
	default:
		r.Fail(jsonrpc.MethodNotFound(r.Method))
	}
}

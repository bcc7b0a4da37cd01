package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/scope"
)

const (
	// firstBackoff is the delay before the next start of a server that failed twice in a
	// row; it doubles up to maxBackoff.
	firstBackoff = time.Second
	maxBackoff   = time.Minute
	// delayedStartTimeout bounds a call's wait for a delayed start. With a longer delay, the call
	// fails.
	delayedStartTimeout = 5 * time.Second
	// listDelay is the minimum delay between two requests for a server's tools.
	listDelay = 2 * time.Second
)

// link is one server of a session, with its state.
type link struct {
	server Server
	config *Config
	life   context.Context // the session's, not a call's
	work   *sync.WaitGroup // goroutines that Close waits for
	update func(Server, Catalogue)
	report func(error) // receives each part that did not end

	mu        sync.Mutex // guards the fields below
	live      *client
	starting  chan struct{} // closed when the start has ended; nil without a start
	failure   error         // of the last start or connection
	failures  int           // in a row
	retryAt   time.Time
	known     bool   // its tools are known
	requested bool   // its tools were requested in this session
	protocol  string // version of the protocol; empty to detect it
	calls     int    // running calls
	disabled  bool   // it must not be used
	// allowed reports that a server which a client named can start, and sandbox is its
	// sandbox.
	allowed bool
	sandbox event.Sandbox
}

// client returns the open connection, and connects if necessary.
func (l *link) client(ctx context.Context) (*client, error) {
	l.mayStart() // otherwise look returns the reason
	for began := false; ; {
		c, wait, err := l.look(&began)
		if c != nil || err != nil {
			return c, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// look returns the open connection, or a channel to wait for before the next look. began
// reports that this caller has waited for a start, whose failure it returns.
func (l *link) look(began *bool) (c *client, wait <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.life.Err() != nil:
		return nil, nil, errors.New("the session is closed")
	case l.disabled:
		return nil, nil, fmt.Errorf("the MCP server %q is disabled", l.server.Name)
	case l.live != nil && l.live.isOver():
		return nil, l.live.dropped, nil
	case l.live != nil:
		return l.live, nil, nil
	case l.starting == nil && l.server.Named && !l.allowed:
		return nil, nil, &NotAllowedError{l.server.Name}
	case l.starting == nil && *began:
		return nil, nil, fmt.Errorf("cannot start the MCP server %q: %w", l.server.Name, l.failure)
	case l.starting == nil:
		delay := time.Until(l.retryAt)
		if delay > delayedStartTimeout {
			return nil, nil, fmt.Errorf("cannot reach the MCP server %q: %w; it is started again in %s at the earliest",
				l.server.Name, l.failure, delay.Round(time.Second))
		}
		l.begin(delay)
	}
	*began = true
	return nil, l.starting, nil
}

// begin starts the server after the delay. The caller holds the lock.
func (l *link) begin(wait time.Duration) {
	starting := make(chan struct{})
	l.starting = starting
	l.work.Go(scope.Shield(l.panicked, func() { // ends with the session's life at the latest
		l.config.seen(l.server.Name, Starting, nil)
		var c *client
		err := scope.Guard(func() (err error) { c, err = l.startAfter(wait); return err })
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.starting = nil; err != nil {
			l.failed(err)
		} else {
			l.live = c
			l.config.seen(l.server.Name, Ready, nil)
			l.work.Go(scope.Shield(l.panicked, func() { l.attend(c) }))
			l.rest()
		}
		close(starting)
	}))
}

// failed records a failure. The caller holds the lock.
func (l *link) failed(err error) {
	l.failure = err
	state := Failed
	if _, ok := errors.AsType[*LoginError](err); ok { // the login can happen at any time, and a retry is cheap
		state, l.failures = NeedsLogin, 0
	} else {
		l.failures++
	}
	delay := time.Duration(0) // one failure can be an accident
	if l.failures > 1 {
		delay = min(firstBackoff<<min(l.failures-2, 10), maxBackoff)
	}
	l.retryAt = time.Now().Add(delay)
	if l.life.Err() == nil && !l.disabled {
		l.config.seen(l.server.Name, state, err)
		l.config.Logger.Warn("an MCP server failed", slog.String("server", l.server.Name), slog.Any("error", err))
	}
}

// panicked reports a defect in code that the link calls.
func (l *link) panicked(err error) {
	scope.LogPanic(l.config.Logger, nil, "an MCP server's connection panicked", err, "server", l.server.Name)
}

// succeeded resets the failures.
func (l *link) succeeded() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = 0
}

// startAfter starts the server after a delay and requests its tools, unless they are known.
func (l *link) startAfter(wait time.Duration) (*client, error) {
	if err := scope.Sleep(l.life, wait); err != nil {
		return nil, err
	}
	timeout := l.server.startTimeout()
	if l.server.Relay != nil {
		return l.try(timeout, lastInitialize) // relayed servers speak no later version
	}
	c, err := l.try(timeout, l.protocol)
	if err == nil || l.protocol != "" || l.life.Err() != nil || !errors.Is(err, errSlowStart) {
		return c, err
	}
	// Servers older than 2026-07-28 should refuse its first request; some do not answer.
	if c, retryErr := l.try(timeout, lastInitialize); retryErr == nil {
		l.protocol = lastInitialize
		return c, nil
	}
	return nil, err
}

var errSlowStart = errors.New("it did not answer in time")

// try starts the server once.
func (l *link) try(timeout time.Duration, protocol string) (*client, error) {
	ctx, cancel := context.WithTimeoutCause(l.life, timeout, fmt.Errorf("%w (%s)", errSlowStart, timeout))
	defer cancel()
	connection, err := l.config.connection(ctx, l.server, l.confined())
	if err != nil {
		return nil, l.explained(err)
	}
	c, err := connect(ctx, l.server.Name, l.config.Version, protocol, connection)
	if err != nil {
		_ = l.end(connection)
	} else if !l.isKnown() {
		if err = l.list(ctx, c); err != nil {
			_ = l.close(c)
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, l.explained(err)
	}
	return c, nil
}

// explained adds to a failed start the user's options for the sandbox.
func (l *link) explained(err error) error {
	if in := l.confined(); in.On() {
		return fmt.Errorf(
			"%w; it runs in the sandbox (%s): a rule of the user for %s with sandbox = \"off\" starts it without", err,
			in, StartName,
		)
	}
	return err
}

// isKnown reports whether the server's tools are known, so that no call waits for them.
func (l *link) isKnown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known
}

// isAsked reports whether this session has requested the server's tools.
func (l *link) isAsked() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requested
}

// list requests and stores the server's tools.
func (l *link) list(ctx context.Context, c *client) error {
	catalogue, err := c.catalogue(ctx)
	if err != nil {
		return err
	}
	if err := keep(l.config.CacheDir, l.server, catalogue); err != nil {
		l.config.Logger.Warn("an MCP server's tools are not kept", slog.Any("error", err))
	}
	l.update(l.server, catalogue)
	l.mu.Lock()
	l.known, l.requested = true, true
	l.mu.Unlock()
	if l.config.Listed != nil {
		l.config.Listed(l.server.Name)
	}
	return nil
}

// attend updates the server's tools, and records the end of the connection.
func (l *link) attend(c *client) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	due := timer.C
	if l.isAsked() {
		due = nil
	}
	for {
		select {
		case <-c.changed:
			if due == nil {
				timer.Reset(listDelay)
				due = timer.C
			}
		case <-due:
			due = nil
			ctx, cancel := context.WithTimeout(l.life, l.server.startTimeout())
			if err := scope.Guard(func() error { return l.list(ctx, c) }); err != nil && l.life.Err() == nil {
				l.config.Logger.Warn("cannot list the tools of an MCP server", slog.String("server", l.server.Name),
					slog.Any("error", err))
			}
			cancel()
		case <-c.sessionDone:
			l.drop(c)
			return
		case <-c.useless:
			l.drop(c)
			return
		case <-l.life.Done():
			l.drop(c)
			return
		}
	}
}

// drop ends an unusable connection. The server starts again only afterwards.
func (l *link) drop(c *client) {
	why := c.failure()
	if err := l.close(c); err != nil {
		l.report(fmt.Errorf("MCP server %q: %w", l.server.Name, err))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live = nil
	l.failed(why)
	close(c.dropped)
}

// close ends a client.
func (l *link) close(c *client) error {
	err := l.end(c.connection)
	<-c.sessionDone       // the session ends with its connection
	_ = c.session.Close() // cleans up; the connection has ended
	return err
}

// end ends a connection within a deadline.
func (l *link) end(c connection) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.life), endTimeout)
	defer cancel()
	return c.end(ctx)
}

// projectVariable names the session's directory for servers, as in Claude Code.
const projectVariable = "CLAUDE_PROJECT_DIR"

// connection makes a connection to the server.
func (c *Config) connection(ctx context.Context, s Server, in event.Sandbox) (connection, error) {
	if s.Check != nil {
		if err := s.Check(); err != nil {
			return nil, err
		}
	}
	switch {
	case s.Relay != nil:
		return s.Relay.connect(), nil
	case s.URL != "":
		return newRemote(s, c.Client, c.Tokens)
	}
	if len(s.Argv) == 0 {
		return nil, errors.New("it has neither a command nor a url")
	}
	if s.OwnDir {
		if err := os.MkdirAll(s.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("cannot make its working directory: %w", err)
		}
	}
	inherited := c.Env
	if !in.On() {
		inherited = proc.TrustedEnv(inherited)
	}
	env := proc.Overlay(proc.Overlay(inherited, []string{projectVariable + "=" + c.Dir}), s.Env)
	spec := proc.Spec{Argv: s.Argv, Dir: c.dirOf(s), Env: env, Marker: c.Marker, Lock: c.Lock}
	p, err := startPipe(ctx, spec, func(ctx context.Context, spec proc.Spec) (*proc.Process, error) {
		switch {
		case !in.On():
			spec.Env = proc.TrustedPrograms(spec.Env) // the server's own variables are its user's choice
			return proc.Start(ctx, spec)
		case c.start == nil:
			return nil, errors.New("it would have to run in a sandbox, and there is none")
		}
		return c.start(ctx, in, spec)
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// dirOf returns the working directory of a server.
func (c *Config) dirOf(s Server) string { return cmp.Or(s.Dir, c.Dir) }

package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/scope"
)

const (
	// firstBackoff is how long a server that failed twice in a row is left alone;
	// it doubles up to maxBackoff.
	firstBackoff = time.Second
	maxBackoff   = time.Minute
	// patience is how long a call waits for a server that is left alone. With a
	// longer wait, it fails.
	patience = 5 * time.Second
	// listDelay is the least time between two questions for a server's tools.
	listDelay = 2 * time.Second
)

// link is one server of a session, and what is known of it.
type link struct {
	server Server
	config *Config
	life   context.Context //nolint:containedctx // the session's, not a call's
	work   *sync.WaitGroup // goroutines that Close waits for
	update func(Server, Catalogue)
	report func(error) // of what could not be ended

	mu       sync.Mutex // guards what follows
	live     *client
	starting chan struct{} // closed when the start has ended; nil while there is none
	failure  error         // of the last start or connection
	failures int           // in a row
	retryAt  time.Time
	known    bool   // its tools are
	asked    bool   // for its tools, in this session
	protocol string // that it is spoken to in; empty if that is to be found out
	calls    int    // that run
	disabled bool   // it is not to be used
	// allowed says that a server which a client named may start, and sandbox in which
	// sandbox.
	allowed bool
	sandbox event.Sandbox
}

// client returns the live connection, which is made if need be.
func (l *link) client(ctx context.Context) (*client, error) {
	l.mayStart() // or look says why not
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

// look returns the live connection, or what to wait for before one looks again.
// began says that this caller has waited for a start, whose failure is its own.
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
		if delay > patience {
			return nil, nil, fmt.Errorf("cannot reach the MCP server %q: %w; it is started again in %s at the earliest",
				l.server.Name, l.failure, delay.Round(time.Second))
		}
		l.begin(delay)
	}
	*began = true
	return nil, l.starting, nil
}

// begin starts the server after the wait. The caller has the lock.
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

// failed notes a failure. The caller has the lock.
func (l *link) failed(err error) {
	l.failure = err
	state := Failed
	if _, ok := errors.AsType[*LoginError](err); ok { // which may come any time, and asking costs little
		state, l.failures = NeedsLogin, 0
	} else {
		l.failures++
	}
	delay := time.Duration(0) // once may be an accident
	if l.failures > 1 {
		delay = min(firstBackoff<<min(l.failures-2, 10), maxBackoff)
	}
	l.retryAt = time.Now().Add(delay)
	if l.life.Err() == nil && !l.disabled {
		l.config.seen(l.server.Name, state, err)
		l.config.Logger.Warn("an MCP server failed", slog.String("server", l.server.Name), slog.Any("error", err))
	}
}

// panicked reports a defect of what the link calls.
func (l *link) panicked(err error) {
	scope.LogPanic(l.config.Logger, nil, "an MCP server's connection panicked", err, "server", l.server.Name)
}

// succeeded forgets the failures so far.
func (l *link) succeeded() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = 0
}

// startAfter waits, then starts the server and asks it for its tools, unless they
// are known.
func (l *link) startAfter(wait time.Duration) (*client, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.life.Done():
		return nil, context.Cause(l.life)
	}
	timeout := l.server.startTimeout()
	if l.server.Relay != nil {
		return l.try(timeout, lastInitialize) // clients speak nothing later
	}
	c, err := l.try(timeout, l.protocol)
	if err == nil || l.protocol != "" || l.life.Err() != nil || !errors.Is(err, errSlowStart) {
		return c, err
	}
	// Servers of before 2026-07-28 are to refuse its first request; some say nothing.
	if c, again := l.try(timeout, lastInitialize); again == nil {
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

// explained adds to the failure of a start what the user can do about a sandbox.
func (l *link) explained(err error) error {
	if in := l.confined(); in.On() {
		return fmt.Errorf("%w; it runs in the sandbox (%s): a rule of the user for %s with sandbox = \"off\" starts it without", err, in, StartName)
	}
	return err
}

// isKnown reports whether the server's tools are known, so that nobody waits for
// them.
func (l *link) isKnown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known
}

// isAsked reports whether the server has been asked for them in this session.
func (l *link) isAsked() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// list asks for the server's tools and keeps what it says.
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
	l.known, l.asked = true, true
	l.mu.Unlock()
	if l.config.Listed != nil {
		l.config.Listed(l.server.Name)
	}
	return nil
}

// attend keeps what is known of the server's tools up to date, and notes the end of
// the connection.
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
				l.config.Logger.Warn("cannot list the tools of an MCP server", slog.String("server", l.server.Name), slog.Any("error", err))
			}
			cancel()
		case <-c.over:
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

// drop ends a connection that is of no use any more. The server is started again
// only after that.
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
	<-c.over              // since its connection has ended
	_ = c.session.Close() // which has no connection; it only tidies up
	return err
}

// end ends a connection, and waits for that in bounds.
func (l *link) end(c connection) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.life), endTimeout)
	defer cancel()
	return c.end(ctx)
}

// connection makes a connection to the server.
func (c *Config) connection(ctx context.Context, s Server, in event.Sandbox) (connection, error) {
	switch {
	case s.Relay != nil:
		return s.Relay.connect(), nil
	case s.URL != "":
		return newRemote(s, c.Client, c.Tokens)
	}
	if len(s.Argv) == 0 {
		return nil, errors.New("it has neither a command nor a url")
	}
	spec := proc.Spec{Argv: s.Argv, Dir: c.dirOf(s), Env: overlaid(c.Env, s.Env), Marker: c.Marker, Lock: c.Lock}
	p, err := startPipe(ctx, spec, func(ctx context.Context, spec proc.Spec) (*proc.Process, error) {
		switch {
		case !in.On():
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

// dirOf is where a server runs.
func (c *Config) dirOf(s Server) string { return cmp.Or(s.Dir, c.Dir) }

// overlaid is an environment with variables that replace those of the same name.
func overlaid(env, over []string) []string {
	names := map[string]bool{}
	for _, entry := range over {
		name, _, _ := strings.Cut(entry, "=")
		names[name] = true
	}
	out := make([]string, 0, len(env)+len(over))
	for _, entry := range env {
		if name, _, _ := strings.Cut(entry, "="); !names[name] {
			out = append(out, entry)
		}
	}
	return append(out, over...)
}

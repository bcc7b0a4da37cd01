package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/settle-agent/settle/fleet/pgdev"
	"github.com/settle-agent/settle/fleet/pglog"
	"github.com/settle-agent/settle/fleet/temporaldev"
)

const (
	// minRestartDelay and maxRestartDelay bound the pause before a server of dev starts
	// again; the pause doubles with each failure.
	minRestartDelay, maxRestartDelay = 200 * time.Millisecond, 5 * time.Second
	// maxRestarts is the maximum number of failures of a server in a row. A server that ran for
	// steadyTime has not failed.
	maxRestarts = 6
	steadyTime  = 10 * time.Second
)

// devServer is a running server of dev.
type devServer interface {
	Exited() <-chan struct{}
	ExitStatus() string
	Stop()
}

// devChild is a server that dev starts, and starts again when it ends.
type devChild struct {
	name  string // for people
	log   string // the file with its messages
	start func(context.Context) (devServer, error)
}

// restartError reports a server that cannot be started again.
type restartError struct {
	child devChild
	cause error
}

func (e *restartError) Error() string {
	return fmt.Sprintf(
		"%s has ended and cannot be started again: %v; its log is %s; what was accepted is kept, "+
			"and settle-fleet dev continues it",
		e.child.name,
		e.cause,
		e.child.log,
	)
}

func (e *restartError) Unwrap() error { return e.cause }

// keep starts the server again whenever it ends, until ctx ends; then it stops the server.
// The error is a [*restartError].
func (c devChild) keep(ctx context.Context, s devServer, logger *slog.Logger) error {
	for failures, started := 0, time.Now(); ; {
		select {
		case <-s.Exited():
		case <-ctx.Done():
			s.Stop()
			return nil
		}
		cause := errors.New(s.ExitStatus())
		if time.Since(started) > steadyTime {
			failures = 0
		}
		logger.Warn(c.name+" has ended and is started again", "how", s.ExitStatus(), "log", c.log)
		endTime := time.Now()
		for s = nil; s == nil; {
			if failures == maxRestarts {
				return &restartError{c, cause}
			}
			if !pause(ctx, min(minRestartDelay<<failures, maxRestartDelay)) {
				return nil
			}
			failures++
			started = time.Now()
			if next, err := c.start(ctx); err == nil {
				s = next
			} else if cause = err; ctx.Err() == nil {
				logger.Warn(c.name+" does not start", "error", err)
			}
		}
		logger.Info(c.name+" runs again", "after", time.Since(endTime).Round(time.Millisecond))
	}
}

// pause reports whether the time has passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// devServers are the running servers of dev. Each has a goroutine that keeps it running.
type devServers struct {
	logger *slog.Logger
	fail   context.CancelCauseFunc // ends dev
	stops  []func()                // of the servers, in the order of their start
}

// run starts the server and keeps it running until stop.
func (d *devServers) run(ctx context.Context, c devChild) error {
	s, err := c.start(ctx)
	if err != nil {
		return err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // tasks that end need the servers
	var done sync.WaitGroup
	done.Go(func() { // ends with life
		if err := c.keep(life, s, d.logger); err != nil {
			d.fail(err)
		}
	})
	d.stops = append(d.stops, func() { end(); done.Wait() })
	return nil
}

// stop stops the servers, the last one first.
func (d *devServers) stop() {
	for n := len(d.stops) - 1; n >= 0; n-- {
		d.stops[n]()
	}
}

// startDatabase starts a database of one's own in dir, migrates it, and returns its URL.
func (d *devServers) startDatabase(ctx context.Context, dir string) (url string, err error) {
	home := filepath.Join(dir, "postgres")
	err = d.run(ctx, devChild{
		name: "the database", log: filepath.Join(home, "log"),
		start: func(ctx context.Context) (devServer, error) {
			server, err := pgdev.Start(ctx, pgdev.Options{Dir: home})
			if err != nil {
				return nil, err
			}
			url = server.URL // always the same
			return server, nil
		},
	})
	if err != nil {
		return "", err
	}
	pool, err := pglog.Connect(ctx, url)
	if err == nil {
		_, _, err = pglog.Migrate(ctx, pool)
		pool.Close()
	}
	return url, err
}

// The ports of Temporal and its web UI where nothing else has them: the ones that Temporal's
// own tools expect.
const temporalPort, temporalUIPort = 7233, 8233

// startTemporal starts Temporal's development server with its state in dir, and returns its
// address and the URL of its web UI.
func (d *devServers) startTemporal(
	ctx context.Context, program temporaldev.Program, dir, namespace string,
) (address, ui string, err error) {
	o := temporaldev.Options{
		File: filepath.Join(dir, "temporal.db"), Log: filepath.Join(dir, "temporal.log"), Namespace: namespace,
		Port: preferredPort(temporalPort), UI: true, UIPort: preferredPort(temporalUIPort),
	}
	err = d.run(ctx, devChild{
		name: "Temporal", log: o.Log,
		start: func(ctx context.Context) (devServer, error) {
			server, err := program.Start(ctx, o)
			if err != nil {
				return nil, err
			}
			address, ui, o.Port, o.UIPort = server.Address, server.UI, server.Port, server.UIPort // for the next start
			return server, nil
		},
	})
	return address, ui, err
}

// preferredPort returns the port if it is free, else 0, which is another free one.
func preferredPort(port int) int {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return 0
	}
	_ = l.Close() // it was only tried
	return port
}

// report prints the name and the address of a server.
func report(out io.Writer, name, address string) { fmt.Fprintf(out, "%s: %s\n", name, address) }

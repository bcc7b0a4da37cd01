package web

import (
	"context"
	"net"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/guard"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/scope"
)

const (
	// closeTimeout bounds the end of all sessions. drainTimeout then bounds the answers
	// about it. Together they are less than the ten seconds after which container engines
	// send KILL.
	closeTimeout = 8 * time.Second
	drainTimeout = time.Second
)

// Serve answers requests until a stop arrives. Then it ends all sessions of the host: the turns
// end, subscribers receive the endings, and waiting requests receive their outcome. It returns an
// error that names the work that did not end in time. A second stop ends the grace of running
// calls; after a third one, Serve waits for nothing.
func (s *Server) Serve(l net.Listener, stops <-chan stdio.Stop) error {
	serving, stopServing := context.WithCancel(context.Background())
	defer stopServing()
	go scope.Shield(
		scope.Log(s.Logger, nil, "closing idle sessions panicked"), func() { s.closeIdle(serving) },
	)() // ends when Serve returns
	return guard.Serve(l, s.httpServer(), stdio.Shutdown{
		Close:        s.Host.CloseFor,
		Hurry:        stdio.Hurry(s.Host.Sessions),
		Timeout:      closeTimeout,
		DrainTimeout: drainTimeout,
		Stops:        stops,
	})
}

// ServeArchive answers requests until a stop arrives. It ends nothing: the sessions of the archive
// run elsewhere.
func (s *Server) ServeArchive(l net.Listener, stops <-chan stdio.Stop) error {
	return guard.Serve(l, s.httpServer(), stdio.Shutdown{
		Close:   func(context.Context, event.Reason, string) error { return nil },
		Hurry:   func(context.Context, stdio.Stop) {},
		Timeout: closeTimeout, DrainTimeout: drainTimeout, Stops: stops,
	})
}

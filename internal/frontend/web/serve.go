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
	// closeTimeout bounds the end of all sessions, drainTimeout then that of the
	// answers about it. Together they are less than the ten seconds after which
	// containers are killed.
	closeTimeout = 8 * time.Second
	drainTimeout = time.Second
)

// Serve answers requests until a stop comes, then ends everything of the host
// and returns what did not end in time: the turns settle, subscribers are told,
// requests that wait for an outcome get it. A second stop takes the grace of
// running calls away, a third one waits for nothing.
func (s *Server) Serve(l net.Listener, stops <-chan stdio.Stop) error {
	serving, over := context.WithCancel(context.Background())
	defer over()
	go scope.Shield(scope.Log(s.Logger, nil, "closing idle sessions panicked"), func() { s.closeIdle(serving) })() // ends when Serve returns
	return guard.Serve(l, s.httpServer(), stdio.Ladder{
		Close: s.Host.CloseFor, Hurry: stdio.Hurry(s.Host.Sessions), Timeout: closeTimeout, DrainTimeout: drainTimeout, Stops: stops,
	})
}

// ServeArchive answers requests until a stop comes. It ends nothing: what the archive
// has runs elsewhere.
func (s *Server) ServeArchive(l net.Listener, stops <-chan stdio.Stop) error {
	return guard.Serve(l, s.httpServer(), stdio.Ladder{
		Close:   func(context.Context, event.Reason, string) error { return nil },
		Hurry:   func(context.Context, stdio.Stop) {},
		Timeout: closeTimeout, DrainTimeout: drainTimeout, Stops: stops,
	})
}

package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/settle-agent/settle/internal/client/stdio"
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
	server := s.httpServer()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }() // ends with Shutdown or Close; never blocks: room for one
	serving, over := context.WithCancel(context.Background())
	defer over()
	go s.closeIdle(serving) // ends when Serve returns
	select {
	case stop := <-stops:
		err := s.shutDown(server, stop, stops)
		if closed := <-failed; !errors.Is(closed, http.ErrServerClosed) { // Shutdown or Close has ended it
			err = errors.Join(err, closed)
		}
		return err
	case err := <-failed:
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		err = errors.Join(fmt.Errorf("cannot accept connections any more: %w", err), s.Host.Close(ctx))
		_ = server.Close() // those who were connected have been told
		return err
	}
}

func (s *Server) shutDown(server *http.Server, stop stdio.Stop, more <-chan stdio.Stop) error {
	return stdio.Ladder{
		Close: s.Host.CloseFor, Hurry: stdio.Hurry(s.Host.Sessions), Timeout: closeTimeout, DrainTimeout: drainTimeout, Stops: more,
		Drain: func(ctx context.Context) {
			ctx, enough := context.WithTimeout(ctx, drainTimeout) // whatever is left of the rest
			defer enough()
			if server.Shutdown(ctx) != nil { // somebody does not read what they are told
				_ = server.Close()
			}
		},
	}.Descend(stop)
}

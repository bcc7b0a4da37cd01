package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
)

// Limits bound the resources of a server's clients; each zero value means a default.
type Limits struct {
	// Rate is the average number of requests a second that an address can make, and Burst the
	// number at once. Requests with a token, requests without one, and requests for public files
	// have separate rates; a wrong token counts as several requests.
	Rate, Burst float64
	// HeaderBytes bounds the headers of a request, in bytes.
	HeaderBytes int
	// HeaderTimeout bounds a request's headers, BodyTimeout all of it,
	// IdleTimeout the time between requests, WriteTimeout each write to a client.
	HeaderTimeout, BodyTimeout, IdleTimeout, WriteTimeout time.Duration
	// HeartbeatDelay is the time between signs of life on silent streams.
	HeartbeatDelay time.Duration
}

// WithDefaults returns the limits in force.
func (l Limits) WithDefaults() Limits {
	l.Rate, l.Burst = cmp.Or(l.Rate, 100), cmp.Or(l.Burst, 1000)
	l.HeaderBytes = cmp.Or(l.HeaderBytes, 16<<10)
	l.HeaderTimeout, l.BodyTimeout = cmp.Or(l.HeaderTimeout, 10*time.Second), cmp.Or(l.BodyTimeout, time.Minute)
	l.IdleTimeout, l.WriteTimeout = cmp.Or(l.IdleTimeout, 2*time.Minute), cmp.Or(l.WriteTimeout, 10*time.Second)
	l.HeartbeatDelay = cmp.Or(l.HeartbeatDelay, 15*time.Second)
	return l
}

// Server returns an HTTP server with the limits. Only handlers set deadlines for writes.
func (l Limits) Server(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: l.HeaderTimeout,
		ReadTimeout:       l.BodyTimeout,
		IdleTimeout:       l.IdleTimeout,
		MaxHeaderBytes:    l.HeaderBytes,
	}
}

// Serve serves requests until a stop arrives, then runs the shutdown and closes the connections. It
// returns an error that names the work that did not end in time.
func Serve(l net.Listener, server *http.Server, shutdown stdio.Shutdown) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }() // ends with Shutdown or Close below; never blocks: room for one
	stop := stdio.Stop{Reason: event.Shutdown, By: "host"}
	var err error
	select {
	case stop = <-shutdown.Stops:
	case err = <-failed:
		err = fmt.Errorf("cannot accept connections any more: %w", err)
	}
	drain := shutdown.Drain
	shutdown.Drain = func(ctx context.Context) {
		if drain != nil {
			drain(ctx)
		}
		// or the rest of the timeout
		ctx, enough := context.WithTimeout(ctx, cmp.Or(shutdown.DrainTimeout, stdio.CloseTimeout))
		defer enough()
		if server.Shutdown(ctx) != nil { // a client does not read its response
			_ = server.Close()
		}
	}
	return errors.Join(err, shutdown.Run(stop))
}

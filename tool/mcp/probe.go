package mcp

import (
	"context"
	"log/slog"
	"time"
)

// Report is the result of a probe of a server.
type Report struct {
	Server Server
	// Catalogue is the server's description of itself; Start and List are the durations of
	// its start and of its list of tools.
	Catalogue Catalogue
	Start     time.Duration
	List      time.Duration
	// Err is the reason why the server is unusable.
	Err error
}

// Probe starts the server, requests its tools, stores the catalogue for later sessions, and
// ends the server.
func Probe(ctx context.Context, c Config, s Server) (r Report) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	r.Server = s
	life, end := context.WithCancelCause(ctx)
	defer end(nil)
	// With known tools, a start does not request them.
	l := &link{server: s, config: &c, life: life, known: true, update: func(Server, Catalogue) {}}
	began := time.Now()
	client, err := l.startAfter(0)
	if err != nil {
		r.Err = err
		return r
	}
	r.Start = time.Since(began)
	listing, cancel := context.WithTimeoutCause(ctx, s.startTimeout(), errSlowStart)
	defer cancel()
	began = time.Now()
	if r.Catalogue, r.Err = client.catalogue(listing); r.Err == nil {
		r.List = time.Since(began)
		r.Err = keep(c.CacheDir, s, r.Catalogue)
	}
	if err := l.close(client); err != nil && r.Err == nil {
		r.Err = err
	}
	return r
}

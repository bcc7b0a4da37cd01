package mcp

import (
	"context"
	"log/slog"
	"time"
)

// Report is how a server did when it was tried.
type Report struct {
	Server Server
	// Catalogue is what it said of itself, and Start and List how long its start
	// and its list of tools took.
	Catalogue Catalogue
	Start     time.Duration
	List      time.Duration
	// Err is why it cannot be used.
	Err error
}

// Probe starts the server, asks it for its tools, keeps what it says for the
// sessions to come, and ends it.
func Probe(ctx context.Context, c Config, s Server) (r Report) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	r.Server = s
	life, end := context.WithCancelCause(ctx)
	defer end(nil)
	// With its tools known, a start does not ask for them.
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

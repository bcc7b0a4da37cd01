package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/settle-agent/settle/fleet/metrics"
	"github.com/settle-agent/settle/fleet/worker"
)

// serveMetrics has the worker count what it does, and serves that at the address that
// the flag says until stop is called. Without a host it is this machine's loopback. /ready answers with success once
// ready is closed.
func (f *workerFlags) serveMetrics(
	ctx context.Context, to *fleetOf, c *worker.Config, ready <-chan struct{},
) (stop func(), err error) {
	if f.metrics == "" {
		return func() {}, nil
	}
	m := metrics.New(f.slots, to.logs.Commits, to.queue)
	c.Metrics, c.Observer = m, m.Observer()
	host, port, err := net.SplitHostPort(f.metrics)
	if err != nil {
		return nil, fmt.Errorf("--metrics is HOST:PORT or :PORT: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	if err != nil {
		return nil, failed(fmt.Errorf("cannot serve metrics: %w", err))
	}
	server := &http.Server{
		Handler:           metricsRoutes(m.Handler(), ready),
		ReadHeaderTimeout: metricsTimeout,
		WriteTimeout:      metricsTimeout,
		IdleTimeout:       metricsTimeout,
	}
	serverDone := make(chan struct{})
	go func() { // ends with the server
		defer close(serverDone)
		_ = server.Serve(listener) // it is closed
	}()
	c.Logger.Info("metrics are served", "url", "http://"+listener.Addr().String()+"/metrics")
	return func() {
		_ = server.Close()
		<-serverDone
	}, nil
}

// metricsRoutes serves the metrics, whose answer queries the database, and /ready, which queries nothing: probes of
// many workers must not load the database, nor fail while it is away. The worker is ready when Temporal gives it tasks,
// and stays so.
func metricsRoutes(scrape http.Handler, ready <-chan struct{}) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", scrape)
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		text := "ready\n"
		select {
		case <-ready:
		default:
			text = "the worker does not take tasks yet\n"
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, text) // the probe may have gone
	})
	return mux
}

// metricsTimeout bounds a scrape.
const metricsTimeout = 30 * time.Second

// queue returns how many tasks of each tenant wait and run, and what Temporal does not know yet.
func (f *fleetOf) queue(ctx context.Context) (s metrics.State, err error) {
	tenants, err := f.index.Tenants(ctx)
	if err == nil {
		s.Outbox, s.OutboxAge, err = f.index.Outbox(ctx)
	}
	for _, t := range tenants {
		s.Tenants = append(
			s.Tenants, metrics.Size{Tenant: t.Name, Queued: t.Queued, Running: t.Running, Held: t.Held},
		)
	}
	return s, err
}

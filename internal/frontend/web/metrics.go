package web

import (
	"io"
	"net/http"

	"github.com/settle-agent/settle/internal/client/metrics"
)

const metricsPath = "/metrics" // the default path of Prometheus

func metricRoutes() []route {
	return []route{
		{
			method:  "GET",
			path:    metricsPath,
			name:    "metrics",
			summary: "What turns, requests to models and tool calls did since the server started, for Prometheus.",
			status:  http.StatusOK,
			media:   metrics.MediaType,
			handle:  (*Server).metrics,
		},
	}
}

func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) error {
	meter := s.Meter
	if meter == nil {
		meter = new(metrics.Meter)
	}
	w.Header().Set("Content-Type", metrics.MediaType)
	var held metrics.Held
	for _, open := range s.Host.Sessions() {
		open.View(held.Add)
	}
	_, _ = io.WriteString(w, meter.Write(held)) // an error is the client's: it has gone
	return nil
}

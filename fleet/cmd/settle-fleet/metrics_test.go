package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestProbesQueryNothing: /ready answers without a scrape, whose queries the database would have to answer.
func TestProbesQueryNothing(t *testing.T) {
	scrapes := 0
	ready := make(chan struct{})
	routes := metricsRoutes(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { scrapes++ }), ready)
	get := func(path string) int {
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w.Code
	}
	if code := get("/ready"); code != http.StatusServiceUnavailable {
		t.Errorf("/ready is answered with %d before the worker takes tasks", code)
	}
	close(ready)
	if code := get("/ready"); code != http.StatusOK || scrapes != 0 {
		t.Errorf("/ready is answered with %d after %d scrapes", code, scrapes)
	}
	if code := get("/metrics"); code != http.StatusOK || scrapes != 1 {
		t.Errorf("/metrics is answered with %d after %d scrapes", code, scrapes)
	}
}

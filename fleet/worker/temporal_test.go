//go:build temporal

package worker

import (
	"context"
	"testing"

	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/temporaldev/temporaltest"
)

var temporalServer temporaltest.Server

// newPlace returns a place whose workers work with Temporal.
func newPlace(t testing.TB) *fleettest.Place {
	t.Helper()
	p := fleettest.New(t, &server)
	e := temporalServer.Engine(t, p)
	p.Runs, p.Kill = e, func(_ testing.TB, worker string) { e.Abandon(context.Background(), worker) }
	return p
}

func stopEngine() { temporalServer.Stop() }

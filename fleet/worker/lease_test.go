//go:build !temporal

package worker

import (
	"testing"

	"github.com/settle-agent/settle/fleet/fleettest"
)

// newPlace returns a place whose workers work with the lease.
func newPlace(t testing.TB) *fleettest.Place {
	t.Helper()
	return fleettest.New(t, &server)
}

func stopEngine() {}

//go:build temporal

package temporal_test

import (
	"testing"

	"github.com/settle-agent/settle/fleet/fleettest"
)

func TestEngine(t *testing.T) {
	fleettest.RunEngine(t, func(t *testing.T) fleettest.EngineUnderTest {
		t.Helper()
		e := temporalServer.Engine(t, fleettest.New(t, &server))
		return fleettest.EngineUnderTest{Engine: e, Kill: func(worker string) { e.Abandon(t.Context(), worker) }}
	})
}

package worker

import (
	"os"
	"testing"

	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/fleet/temporaldev/temporaltest"
	"github.com/settle-agent/settle/modeltest/leak"
)

var (
	server         pgtest.Server
	temporalServer temporaltest.Server
)

func TestMain(m *testing.M) { os.Exit(leak.Run(server.Tests(m, temporalServer.Stop))) }

// newPlace returns a place with an engine.
func newPlace(t testing.TB) *fleettest.Place {
	t.Helper()
	temporalServer.Address(t) // or the test fails
	p := fleettest.New(t, &server)
	temporalServer.Engine(t, p)
	return p
}

package deploy

import (
	"os"
	"testing"

	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/fleet/temporaldev/temporaltest"
)

// The servers of the tests.
var (
	server   pgtest.Server
	temporal temporaltest.Server
)

func TestMain(m *testing.M) {
	code := server.Tests(m).Run()
	temporal.Stop()
	os.Exit(code)
}

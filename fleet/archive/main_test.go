package archive

import (
	"os"
	"testing"

	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/fleet/temporaldev/temporaltest"
	"github.com/settle-agent/settle/modeltest/leak"
)

var (
	server         pgtest.Server
	temporalServer temporaltest.Server
)

func TestMain(m *testing.M) { os.Exit(leak.Run(server.Tests(m, temporalServer.Stop))) }

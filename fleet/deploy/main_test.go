package deploy

import (
	"os"
	"testing"

	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
)

// server is the tests' Postgres.
var server pgtest.Server

func TestMain(m *testing.M) { os.Exit(server.Tests(m).Run()) }

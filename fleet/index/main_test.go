package index_test

import (
	"os"
	"testing"

	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/modeltest/leak"
)

var server pgtest.Server

func TestMain(m *testing.M) { os.Exit(leak.Run(server.Tests(m))) }

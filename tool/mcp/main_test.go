package mcp_test

import (
	"os"
	"testing"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/test/setsid"
	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) {
	setsid.Command()
	proc.RunAsSupervisor()
	if mode := os.Getenv(fakeMode); mode != "" {
		fake{mode: mode}.serve()
		os.Exit(0)
	}
	if os.Getenv(hostRole) != "" {
		playHost()
		os.Exit(0)
	}
	os.Exit(leak.Run(setsid.With(m)))
}

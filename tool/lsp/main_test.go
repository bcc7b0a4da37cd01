package lsp_test

import (
	"os"
	"testing"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) {
	proc.RunAsSupervisor()
	if mode := os.Getenv(fakeMode); mode != "" {
		(&fake{mode: mode, texts: map[string]document{}, loaded: map[string]bool{}}).serve()
		os.Exit(0)
	}
	os.Exit(leak.Run(m))
}

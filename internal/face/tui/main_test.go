package tui

import (
	"os"
	"testing"

	"github.com/settle-agent/settle/settletest/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

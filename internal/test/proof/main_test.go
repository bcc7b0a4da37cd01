package proof

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // sessions are small: collecting as usual takes a sixth of the time
	os.Exit(leak.Run(m))
}

package sandbox

import (
	"os"
	"testing"

	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandboxedArg {
		runSandboxed()
	}
	os.Exit(leak.Run(m))
}

// sandboxedArg is the first argument of the test's binary, run in a sandbox.
const sandboxedArg = "run-in-a-sandbox"

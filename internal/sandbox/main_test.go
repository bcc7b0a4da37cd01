package sandbox

import (
	"os"
	"testing"

	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == boxed {
		inBox()
	}
	os.Exit(leak.Run(m))
}

// boxed is the first argument of the test's binary, run anew in a box.
const boxed = "run-in-a-box"

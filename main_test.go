package settle_test

import (
	"os"
	"testing"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/modeltest/leak"
)

// withoutWardens turns this test binary into a program that does not call RunAsSupervisor.
const withoutWardens = "SETTLE_TEST_WITHOUT_WARDENS"

func TestMain(m *testing.M) {
	if os.Getenv(withoutWardens) == "" {
		settle.RunAsSupervisor()
	}
	os.Exit(leak.Run(m))
}

package settle_test

import (
	"os"
	"testing"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/modeltest/leak"
)

// withoutSupervisors turns this test binary into a program that does not call RunAsSupervisor.
const withoutSupervisors = "SETTLE_TEST_WITHOUT_SUPERVISORS"

func TestMain(m *testing.M) {
	if os.Getenv(withoutSupervisors) == "" {
		settle.RunAsSupervisor()
	}
	os.Exit(leak.Run(m))
}

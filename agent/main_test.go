package agent_test

import (
	"os"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) {
	settle.RunAsSupervisor()
	playExecutor()
	os.Exit(leak.Run(m))
}

package attach_test

import (
	"os"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) {
	settle.RunAsSupervisor()
	os.Exit(leak.Run(m))
}

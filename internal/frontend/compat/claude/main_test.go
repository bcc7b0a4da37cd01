package claude

import (
	"os"
	"testing"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/proc/pdf"
	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) {
	proc.RunAsSupervisor()
	pdf.RunAsExtractor()
	os.Exit(leak.Run(m))
}

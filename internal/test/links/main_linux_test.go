package links

import (
	"os"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == attackRole {
		syscall.Exit(playAttack(os.Args[2], os.Args[3]))
	}
	os.Exit(leak.Run(m))
}

package guard

import (
	"io"
	"net"
	"os"
	"testing"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/modeltest/leak"
)

// connectRole is the first argument of a process that connects to a socket, and prints the received
// data.
const connectRole = "connect-to-socket"

func TestMain(m *testing.M) {
	proc.RunAsSupervisor()
	if len(os.Args) == 3 && os.Args[1] == connectRole {
		os.Exit(connect(os.Args[2]))
	}
	os.Exit(leak.Run(m))
}

func connect(path string) (code int) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return 3
	}
	defer conn.Close()
	_, _ = io.Copy(os.Stdout, conn) // an error is an answer that is missing
	return 0
}

package hostsocket

import (
	"io"
	"net"
	"os"
	"testing"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/modeltest/leak"
)

// joinRole is the first argument of a process that joins a session at a socket, and prints
// the answer.
const joinRole = "join-session"

func TestMain(m *testing.M) {
	proc.RunAsSupervisor()
	if len(os.Args) == 3 && os.Args[1] == joinRole {
		os.Exit(join(os.Args[2]))
	}
	os.Exit(leak.Run(m))
}

func join(path string) (code int) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return 3
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, `{"join":"s1"}`+"\n") // the server may close first
	_ = conn.(*net.UnixConn).CloseWrite()
	_, _ = io.Copy(os.Stdout, conn) // an error is an answer that is missing
	return 0
}

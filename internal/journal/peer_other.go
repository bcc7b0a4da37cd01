//go:build !linux && !darwin

package journal

import (
	"net"
	"os"
)

// peerOf does not know. What protects the socket is its directory.
func peerOf(*net.UnixConn) (uid int, known bool) { return os.Geteuid(), true }

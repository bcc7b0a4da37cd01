package journal

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerOf returns the user at the other end of a socket, as the kernel has
// noted it (LOCAL_PEERCRED, unix(4)).
func peerOf(conn *net.UnixConn) (uid int, known bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, false
	}
	err = raw.Control(func(fd uintptr) {
		if peer, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); err == nil {
			uid, known = int(peer.Uid), true
		}
	})
	return uid, known && err == nil
}

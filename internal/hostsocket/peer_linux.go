package hostsocket

import "golang.org/x/sys/unix"

// peerOf returns the user at the other end of a socket, which the kernel reports
// (SO_PEERCRED, unix(7)).
func peerOf(socket int) (uid int, known bool) {
	peer, err := unix.GetsockoptUcred(socket, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, false
	}
	return int(peer.Uid), true
}

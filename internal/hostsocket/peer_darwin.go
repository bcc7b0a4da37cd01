package hostsocket

import "golang.org/x/sys/unix"

// peerOf returns the user at the other end of a socket, which the kernel reports
// (LOCAL_PEERCRED, unix(4)).
func peerOf(socket int) (uid int, known bool) {
	peer, err := unix.GetsockoptXucred(socket, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, false
	}
	return int(peer.Uid), true
}

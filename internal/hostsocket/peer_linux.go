package hostsocket

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// peerOf returns the user at the other end of a socket, which the kernel reports
// (SO_PEERCRED, unix(7)). A process in a sandbox is not known: with a network, a sandboxed
// command can connect to every socket of its user.
func peerOf(socket int) (uid int, known bool) {
	peer, err := unix.GetsockoptUcred(socket, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || isSandboxed(socket, int(peer.Pid)) {
		return 0, false
	}
	return int(peer.Uid), true
}

// soPeerPIDFD is SO_PEERPIDFD (Linux 6.5), which the package unix does not have.
const soPeerPIDFD = 77

// isSandboxed reports whether the process at the other end is confined as sandboxed
// commands are, or has ended, and this process is not confined in the same way.
func isSandboxed(socket, pid int) bool {
	pidfd, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, soPeerPIDFD)
	switch {
	case errors.Is(err, unix.ENOPROTOOPT): // no sandbox has so old a kernel
		return false
	case err != nil: // it has ended; its children can have the socket
		return true
	}
	defer func() { _ = unix.Close(pidfd) }()
	peer, err := confinementOf(strconv.Itoa(pid))
	if err != nil {
		return true
	}
	alive := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	if n, err := unix.Poll(alive, 0); n != 0 || err != nil { // its number can be another process's
		return true
	}
	self, err := confinementOf("self")
	return err != nil || peer.sandboxed() && peer != self
}

// confinement has the fields of /proc/PID/status about a process's confinement.
type confinement struct{ noNewPrivileges, filters int }

// sandboxed reports whether the process has the properties of every sandboxed command.
func (c confinement) sandboxed() bool { return c.noNewPrivileges > 0 && c.filters > 0 }

func confinementOf(process string) (c confinement, err error) {
	raw, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return c, err
	}
	found := 0
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(line, ":")
		n, err := strconv.Atoi(strings.TrimSpace(value))
		switch {
		case err != nil:
			continue
		case name == "NoNewPrivs":
			c.noNewPrivileges, found = n, found+1
		case name == "Seccomp_filters":
			c.filters, found = n, found+1
		}
	}
	if found != 2 {
		return c, fmt.Errorf("cannot read the confinement of process %s", process)
	}
	return c, nil
}

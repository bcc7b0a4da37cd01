//go:build unix

package proc

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Detached reports whether this process was started to outlive its parent: by nohup, by setsid,
// or with "&" in a shell that leaves its jobs alone. Call it before signals are caught.
func Detached() bool {
	leader, err := unix.Getsid(0)
	return signal.Ignored(os.Interrupt) || signal.Ignored(syscall.SIGHUP) || err == nil && leader == os.Getpid()
}

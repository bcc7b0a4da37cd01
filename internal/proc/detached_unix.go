//go:build unix

package proc

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Detached reports whether this process was meant to go on without whoever
// started it: by nohup, by setsid, or by a shell's "&" where the shell leaves
// its jobs to themselves. It has to be asked before signals are caught.
func Detached() bool {
	leader, err := unix.Getsid(0)
	return signal.Ignored(os.Interrupt) || signal.Ignored(syscall.SIGHUP) || err == nil && leader == os.Getpid()
}

package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// Parent calls lost when the process that started this one has ended. If it ended before the
// call, the system cannot distinguish that from a program that init started, and lost is not
// called. The returned function ends the watch and waits for its goroutine.
func Parent(lost func(error)) func() {
	parent := os.Getppid()
	if parent <= 1 {
		return func() {}
	}
	fd, err := unix.PidfdOpen(parent, unix.PIDFD_NONBLOCK)
	if err != nil {
		return poll(parent, lost)
	}
	if os.Getppid() != parent { // the parent ended before the watch began
		_ = unix.Close(fd)
		lost(ErrParent)
		return func() {}
	}
	stop := waitClosed(fd, unix.POLLIN, func() { lost(ErrParent) })
	if stop == nil {
		_ = unix.Close(fd)
		return poll(parent, lost)
	}
	return func() {
		stop()
		_ = unix.Close(fd)
	}
}

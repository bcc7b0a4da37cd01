package watch

import (
	"os"

	"golang.org/x/sys/unix"
)

// Parent calls lost when the process that started this one has ended. Where
// that happened before the call, nobody can tell it from a program that was
// started by init, and it is not called. The returned function ends the watch
// and waits for it.
func Parent(lost func(error)) (stop func()) {
	parent := os.Getppid()
	if parent <= 1 {
		return func() {}
	}
	fd, err := unix.PidfdOpen(parent, unix.PIDFD_NONBLOCK)
	if err != nil {
		return poll(parent, lost)
	}
	if os.Getppid() != parent { // it ended before it could be watched
		_ = unix.Close(fd)
		lost(ErrParent)
		return func() {}
	}
	wake, waker, err := os.Pipe()
	if err != nil {
		_ = unix.Close(fd)
		return poll(parent, lost)
	}
	ended := make(chan struct{})
	go func() { // ends with stop, which waits for it
		defer close(ended)
		defer func() { _ = unix.Close(fd) }()
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(wake.Fd()), Events: unix.POLLIN}}
		for {
			_, err := unix.Poll(fds, -1)
			switch {
			case err == unix.EINTR:
			case err != nil || fds[1].Revents != 0:
				return
			case fds[0].Revents != 0:
				lost(ErrParent)
				return
			}
		}
	}()
	return func() {
		_ = waker.Close() // wakes the poll
		<-ended
		_ = wake.Close()
	}
}

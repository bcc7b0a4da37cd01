//go:build unix

package watch

import (
	"context"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Closed calls lost when nobody can read the file any more: the reader of a
// pipe is gone, or the terminal. The returned function ends the watch and waits
// for it.
func Closed(f *os.File, lost func(error)) (stop func()) {
	wake, waker, err := os.Pipe()
	if err != nil {
		return func() {} // the next write will tell
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { // ends with stop, which waits for it
		defer close(ended)
		fds := []unix.PollFd{{Fd: int32(f.Fd())}, {Fd: int32(wake.Fd()), Events: unix.POLLIN}}
		for ctx.Err() == nil {
			_, err := unix.Poll(fds, -1)
			switch {
			case err == unix.EINTR:
			case err != nil || ctx.Err() != nil || fds[0].Revents&unix.POLLNVAL != 0:
				return
			case fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0:
				lost(syscall.EPIPE)
				return
			}
		}
	}()
	return func() {
		cancel()
		_ = waker.Close() // wakes the poll
		<-ended
		_ = wake.Close()
	}
}

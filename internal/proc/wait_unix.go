//go:build unix

package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// waitClosed calls happened once when the descriptor has one of the events, which always include
// POLLERR and POLLHUP. The returned function ends the wait and waits for its goroutine; it is
// nil if the descriptor cannot be polled.
func waitClosed(fd int, events int16, happened func()) (stop func()) {
	wake, waker, err := os.Pipe()
	if err != nil {
		return nil
	}
	ended := make(chan struct{})
	go func() { // ends with stop, which waits for it
		defer close(ended)
		fds := []unix.PollFd{{Fd: int32(fd), Events: events}, {Fd: int32(wake.Fd()), Events: unix.POLLIN}}
		for {
			_, err := unix.Poll(fds, -1)
			switch {
			case err == unix.EINTR:
			case err != nil || fds[1].Revents != 0 || fds[0].Revents&unix.POLLNVAL != 0:
				return
			case fds[0].Revents&(events|unix.POLLERR|unix.POLLHUP) != 0:
				happened()
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

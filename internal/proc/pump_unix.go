//go:build unix

package proc

import (
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// fill reads once. The read and its count are one step under the lock, so that read plus pending
// equals all written bytes, as drain needs.
func (p *pump) fill(buf []byte) (int, error) {
	raw, err := p.src.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		n, failed = unix.Read(int(fd), buf)
		if failed == nil && n > 0 {
			p.read += int64(n)
		}
		return !errors.Is(failed, unix.EAGAIN)
	})
	switch {
	case err != nil:
		return 0, err
	case errors.Is(failed, unix.EINTR):
		return 0, nil
	case failed != nil: // a terminal returns EIO after its last user has closed it
		return 0, failed
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// pending returns the bytes in the pipe; the caller holds the lock.
func (p *pump) pending() int64 {
	raw, err := p.src.SyscallConn()
	if err != nil {
		return 0
	}
	var n int
	if err := raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), pendingRequest) }); err != nil {
		return 0
	}
	return int64(n)
}

// interrupt makes the current and all later reads return.
func (p *pump) interrupt() { _ = p.src.SetReadDeadline(time.Unix(1, 0)) }

package proc

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// writeLog moves what comes out of fd to the end of a log, until the end of
// the pipe closes the channel, or the warden exits.
func writeLog(fd int, log Log) (<-chan struct{}, error) {
	file, err := os.OpenFile(log.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	stat, err := file.Stat()
	if err != nil {
		_ = unix.Close(fd)
		_ = file.Close()
		return nil, err
	}
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		defer file.Close()
		defer unix.Close(fd)
		copyLog(file, fd, log.MaxBytes-stat.Size())
	}()
	return logged, nil
}

// copyLog reads until the end; what exceeds the room is dropped, so that the
// writer never blocks.
func copyLog(file *os.File, fd int, room int64) {
	buf := make([]byte, 8<<10)
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN): // the host used it without blocking
			wait := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			_, _ = unix.Poll(wait, -1)
			continue
		case err != nil || n <= 0:
			return
		}
		keep := min(int64(n), max(room, 0))
		if keep > 0 {
			_, _ = file.Write(buf[:keep])
			room -= keep
		}
	}
}

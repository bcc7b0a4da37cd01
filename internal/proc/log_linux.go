package proc

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// writeLog appends the output of fd to a log. The channel closes at the end of the pipe.
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

// copyLog reads to the end and drops the data above room, so that the writer never blocks.
func copyLog(file *os.File, fd int, room int64) {
	buf := make([]byte, 8<<10)
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN): // the host made the descriptor non-blocking
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

package stdio

import (
	"errors"
	"os"
	"syscall"
)

// IsClosed reports whether a write failed because the reader is gone.
func IsClosed(err error) bool {
	const noData = syscall.Errno(232) // ERROR_NO_DATA: the pipe is being closed
	return errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, noData) || errors.Is(err, os.ErrClosed)
}

// hungUp reports whether a write failed since the terminal is gone.
func hungUp(error) bool { return false }

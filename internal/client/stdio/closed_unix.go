//go:build unix

package stdio

import (
	"errors"
	"os"
	"syscall"
)

// IsClosed reports whether a write failed because the reader is gone.
func IsClosed(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.EBADF) || errors.Is(
		err, syscall.ECONNRESET,
	) || errors.Is(err, os.ErrClosed)
}

// hungUp reports whether a write failed since the terminal is gone.
func hungUp(err error) bool { return errors.Is(err, syscall.EIO) }

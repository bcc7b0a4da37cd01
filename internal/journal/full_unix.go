//go:build unix

package journal

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isFull reports whether the error means that the disk, or the user's quota, is full.
func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

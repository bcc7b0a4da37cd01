//go:build unix

package journal

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isFull reports whether the error says that the disk, or the user's share of
// it, is full.
func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

package journal

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isFull reports whether the error says that the disk, or the user's share of
// it, is full.
func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

package journal

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isFull reports whether the error means that the disk, or the user's quota, is full.
func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

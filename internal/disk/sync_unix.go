//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// syncDir makes the changes of a directory durable, if the file system can.
func syncDir(f *os.File) error {
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

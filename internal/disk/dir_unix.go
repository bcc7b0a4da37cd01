//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// SyncDir makes all changes of a directory durable, if the file system can.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil // Readable or not, the rename has happened.
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !cannotSync(err) {
		return err
	}
	return nil
}

// cannotSync reports whether the file system cannot sync directories.
func cannotSync(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}

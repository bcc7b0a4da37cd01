//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// SyncDir makes what was created, renamed or removed in a directory durable, where
// the file system can.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil //nolint:nilerr // Readable or not, the rename has happened.
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !cannotSync(err) {
		return err
	}
	return nil
}

// cannotSync reports whether the file system has no sync of directories.
func cannotSync(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}

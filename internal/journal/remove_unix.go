//go:build unix

package journal

import (
	"errors"
	"os"
)

// removeLocked removes the file while the lock is held, so that no process opens it in between.
func removeLocked(f *os.File, path string) error {
	return errors.Join(os.Remove(path), f.Close())
}

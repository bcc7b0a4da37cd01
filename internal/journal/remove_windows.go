package journal

import (
	"errors"
	"os"
)

// removeLocked closes the file first: Windows cannot remove an open file.
func removeLocked(f *os.File, path string) error {
	return errors.Join(f.Close(), os.Remove(path))
}

package journal

import (
	"errors"
	"os"
)

// removeLocked closes the file first: Windows removes no open file.
func removeLocked(f *os.File, path string) error {
	return errors.Join(f.Close(), os.Remove(path))
}

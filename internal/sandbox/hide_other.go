//go:build !linux

package sandbox

import (
	"fmt"
	"os"
)

// Find returns an absolute path without links, with the identity of its file.
func Find(path string) (Hidden, error) {
	if _, err := os.Lstat(path); err != nil {
		return Hidden{}, fmt.Errorf("cannot look at %q: %w", path, err)
	}
	return Hidden{Path: path}, nil
}

//go:build !linux

package journal

import "path/filepath"

// at calls f with the path of the file in the directory.
func at(dir, name string, f func(path string) error) error { return f(filepath.Join(dir, name)) }

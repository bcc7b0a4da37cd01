//go:build !linux

package disk

// openDir opens a directory by its canonical path.
func openDir(path string, mounts *Mounts) (*Dir, error) { return walkDir(path, mounts) }

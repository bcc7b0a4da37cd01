//go:build !linux

package disk

import (
	"io/fs"
	"os"
)

// ChangeMode sets the permissions of a file or directory in an open directory to the result of
// mode. It reports whether it changed something.
func ChangeMode(dir *os.Root, name string, mode func(fs.FileInfo) fs.FileMode) (changed bool, err error) {
	if err := check(name); err != nil && name != "." {
		return false, err
	}
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() || mode(info).Perm() == info.Mode().Perm() {
		return false, err
	}
	err = dir.Chmod(name, mode(info).Perm())
	return err == nil, err
}

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ChangeMode sets the permissions of a file or directory in an open directory to the result of
// mode. It follows no link, and reports whether it changed something.
func ChangeMode(dir *os.Root, name string, mode func(fs.FileInfo) fs.FileMode) (changed bool, err error) {
	if err := check(name); err != nil && name != "." {
		return false, err
	}
	f, err := dir.OpenFile(name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() || mode(info).Perm() == info.Mode().Perm() {
		return false, err
	}
	err = os.Chmod(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), mode(info).Perm())
	return err == nil, err
}

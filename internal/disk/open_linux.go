package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openDir opens a directory by its canonical path. The kernel refuses links in it. The first
// descriptor identifies the directory; the one in use is opened by name and must be the same
// directory.
func openDir(path string, mounts *Mounts) (*Dir, error) {
	f, err := openWithoutLinks(path)
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // an old kernel, or a container's filter
		return walkDir(path, mounts)
	case errors.Is(err, unix.ELOOP):
		return nil, linkIn(path)
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path + "/.") // a FIFO has no "/.", so that the open does not block
	if errors.Is(err, fs.ErrNotExist) {
		return nil, changedOnTheWay(path)
	}
	if err != nil {
		return nil, err
	}
	return adopt(root, path, mounts, info)
}

func openWithoutLinks(path string) (*os.File, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), path), nil
	}
}

// linkIn names the link in a path.
func linkIn(path string) error {
	at, names := split(path)
	for _, name := range names {
		if at = filepath.Join(at, name); name == "" {
			continue
		}
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return linkError(at)
		}
	}
	return &ChangedError{path, fmt.Sprintf("there was a symbolic link in %q", path)}
}

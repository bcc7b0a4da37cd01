package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/disk"
)

// Find returns an absolute path without links, with the identity of its file.
func Find(path string) (Hidden, error) {
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return Hidden{}, fmt.Errorf("cannot look at %q: %w", path, err)
	}
	return Hidden{Path: path, Device: stat.Dev, Inode: stat.Ino}, nil
}

// open opens the path without following a link, if the file is still the same. The descriptor
// gives no right to read.
func (h Hidden) open() (fd int, directory bool, err error) {
	fd, err = unix.Open(h.Path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return -1, false, &ChangedError{h.Path}
	}
	if err != nil {
		return -1, false, fmt.Errorf("cannot open %q: %w", h.Path, err)
	}
	var stat unix.Stat_t
	if err = unix.Fstat(fd, &stat); err == nil && (stat.Dev != h.Device || stat.Ino != h.Inode) {
		err = &ChangedError{h.Path}
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, false, err
	}
	return fd, stat.Mode&unix.S_IFMT == unix.S_IFDIR, nil
}

// unchanged returns an error if one of the files has changed its place.
func unchanged(list []Hidden) error {
	for _, h := range list {
		fd, _, err := h.open()
		if err != nil {
			return err
		}
		_ = unix.Close(fd)
	}
	return nil
}

// hide mounts an inaccessible file over each path, or one with another content, whose identity the
// entry of the list then has. The mount stays on its file after a rename, and the file cannot be
// linked through it. A file with another content can be in a hidden folder.
func hide(list []Hidden) (err error) {
	contents, err := contentFiles(list)
	defer func() {
		for _, m := range contents {
			_ = unix.Close(m.fd)
		}
	}()
	if err != nil {
		return fmt.Errorf("cannot show another content of files: %w", err)
	}
	order := make([]int, len(list)) // the content of a folder before the folder
	for i := range list {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(list[b].Path) - len(list[a].Path) })
	for _, i := range order {
		h := list[i]
		fd, directory, err := h.open()
		if err != nil {
			return err
		}
		m, shown := contents[i]
		switch {
		case shown && folderOf(list, i) < 0:
			err = m.coverWith(fd)
		default:
			err = cover(fd, directory)
		}
		if shown && err == nil && h.Content != nil {
			var stat unix.Stat_t
			if err = unix.Fstat(m.fd, &stat); err == nil {
				list[i].Device, list[i].Inode = stat.Dev, stat.Ino
			}
		}
		if err != nil {
			err = fmt.Errorf("cannot hide %q: %w", h.Path, err)
		}
		_ = unix.Close(fd)
		if err != nil {
			return err
		}
	}
	return nil
}

// folderOf returns the index of the outermost hidden folder around a path of the list; -1 for none.
func folderOf(list []Hidden, i int) (folder int) {
	folder = -1
	for j, h := range list {
		if j != i && h.Content == nil && h.Path != list[i].Path && disk.Within(h.Path, list[i].Path) &&
			(folder < 0 || len(h.Path) < len(list[folder].Path)) {
			folder = j
		}
	}
	return folder
}

// grant adds a rule to read the file that hide has mounted, unless another file now has its name.
func (h Hidden) grant(rules int) error {
	fd, _, err := h.open()
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return grantFile(rules, fd, h.Path, readRights)
}

// cover mounts on a descriptor: on a file a device that cannot be opened, because its mount has
// no devices, and on a folder an empty one that cannot be listed.
func cover(fd int, directory bool) error {
	var m mounted
	var err error
	if directory {
		m, err = closedFolder()
	} else {
		m, err = detach(os.DevNull)
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(m.fd) }()
	return m.coverWith(fd)
}

// coverWith mounts m read-only on a descriptor.
func (m mounted) coverWith(fd int) error {
	attr := &unix.MountAttr{
		Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC,
	}
	if err := unix.MountSetattr(m.fd, "", unix.AT_EMPTY_PATH, attr); err != nil {
		return err
	}
	return unix.MoveMount(m.fd, "", fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// contentFiles returns detached files with the contents of the list, by their index, and detached
// folders for the hidden folders around such files. Kernels before 6.15 copy no part of a detached
// mount, so that the files' memory is mounted for a moment: on /proc, the only mount point that
// certainly exists.
func contentFiles(list []Hidden) (files map[int]mounted, err error) {
	if !slices.ContainsFunc(list, func(h Hidden) bool { return h.Content != nil }) {
		return nil, nil
	}
	memory, err := emptyFolder("755", "16m")
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(memory.fd) }()
	memory.path = "/proc"
	if err := memory.attach(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unix.Unmount(memory.path, unix.MNT_DETACH)) }()
	files = map[int]mounted{}
	paths := map[int]string{}
	for i, h := range list {
		if h.Content == nil {
			continue
		}
		paths[i] = filepath.Join(memory.path, strconv.Itoa(i))
		if folder := folderOf(list, i); folder >= 0 {
			paths[folder] = filepath.Join(memory.path, strconv.Itoa(folder))
			paths[i] = filepath.Join(paths[folder], strings.TrimPrefix(h.Path, list[folder].Path))
			if err := os.MkdirAll(filepath.Dir(paths[i]), 0o755); err != nil {
				return files, err
			}
		}
		if err := os.WriteFile(paths[i], h.Content, 0o444); err != nil {
			return files, err
		}
	}
	for i, path := range paths {
		if files[i], err = detach(path); err != nil {
			delete(files, i)
			return files, err
		}
	}
	for i, path := range paths {
		if list[i].Content == nil {
			if err := closeFolders(path); err != nil {
				return files, err
			}
		}
	}
	return files, nil
}

// closeFolders makes a folder and the folders in it ones that only a privileged process can list.
// The files in them can be opened by their names.
func closeFolders(top string) error {
	var folders []string
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return err
	})
	for _, folder := range slices.Backward(folders) {
		err = errors.Join(err, os.Chmod(folder, 0o111))
	}
	return err
}

// closedFolder returns an empty folder that only a privileged process can list.
func closedFolder() (mounted, error) { return emptyFolder("000", "4k") }

// emptyFolder returns an empty folder in memory.
func emptyFolder(mode, size string) (mounted, error) {
	kind, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return mounted{}, err
	}
	defer func() { _ = unix.Close(kind) }()
	for name, value := range map[string]string{"mode": mode, "size": size} {
		if err := unix.FsconfigSetString(kind, name, value); err != nil {
			return mounted{}, err
		}
	}
	if err := unix.FsconfigCreate(kind); err != nil {
		return mounted{}, err
	}
	fd, err := unix.Fsmount(kind, unix.FSMOUNT_CLOEXEC, 0)
	return mounted{fd: fd}, err
}

// grantWithout grants reading a path recursively, without the hidden paths in it: Landlock rules
// have no exceptions, so that each remaining entry needs its own rule. The folders above hidden
// paths can be listed.
func grantWithout(rules int, path string, hidden []Hidden) error {
	if real, err := filepath.EvalSymlinks(path); err == nil && len(hidden) > 0 {
		path = real
	}
	if slices.ContainsFunc(hidden, func(h Hidden) bool { return disk.Within(h.Path, path) }) {
		return nil
	}
	if !slices.ContainsFunc(hidden, func(h Hidden) bool { return disk.Within(path, h.Path) }) {
		return grant(rules, path, readRights)
	}
	if err := grant(rules, path, unix.LANDLOCK_ACCESS_FS_READ_DIR); err != nil {
		return err
	}
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // the command cannot list it either
	}
	if err != nil {
		return fmt.Errorf("cannot list %q: %w", path, err)
	}
	for _, entry := range entries {
		if entry.Type()&fs.ModeSymlink != 0 { // the target has its own rule, or none
			continue
		}
		if err := grantWithout(rules, filepath.Join(path, entry.Name()), hidden); err != nil {
			return err
		}
	}
	return nil
}

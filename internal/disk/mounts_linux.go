package disk

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Mounts are the file systems that were mounted at some time. A nil Mounts allows all.
type Mounts struct{ ids []uint64 }

// Mounted returns the current mounts; nil if they are unknown.
func Mounted() *Mounts {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	m := &Mounts{}
	for line := range bytes.Lines(table) {
		id, _, _ := bytes.Cut(line, []byte(" "))
		if n, err := strconv.ParseUint(string(id), 10, 64); err == nil {
			m.ids = append(m.ids, n)
		}
	}
	if id, err := mountOf(unix.AT_FDCWD); err != nil || !slices.Contains(m.ids, id) {
		return nil // the table has other numbers than the kernel
	}
	return m
}

// check rejects a file on another file system.
func (m *Mounts) check(f *os.File, path string) error {
	if m == nil {
		return nil
	}
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var id uint64
	if failed := c.Control(func(fd uintptr) { id, err = mountOf(int(fd)) }); failed != nil {
		return failed
	}
	if err == nil && !slices.Contains(m.ids, id) {
		err = &ChangedError{
			path,
			fmt.Sprintf(
				"%q is on a file system that was mounted after the session began; to work there, start a new session",
				path,
			),
		}
	}
	return err
}

// mountOf returns the kernel's number for the mount of an open file.
func mountOf(fd int) (uint64, error) {
	var stat unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &stat)
	if err == nil && stat.Mask&unix.STATX_MNT_ID == 0 {
		err = unix.ENOSYS
	}
	return stat.Mnt_id, err
}

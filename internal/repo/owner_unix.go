//go:build unix

package repo

import (
	"io/fs"
	"os"
	"syscall"
)

// ownerOf returns the user id that a file belongs to.
func ownerOf(info fs.FileInfo) (uid int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

// open opens a file without waiting for the other end of a pipe that took the
// file's place.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

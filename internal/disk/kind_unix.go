//go:build unix

package disk

import (
	"io/fs"
	"syscall"
)

// NonBlocking are the flags to open a FIFO without waiting for its other end; opening a FIFO
// without a reader for writing then fails.
const NonBlocking = syscall.O_NONBLOCK | syscall.O_NOCTTY

// Shared reports whether a regular file has several names and is not world-readable: another
// name can be outside of a decision's paths. World-readable files are excluded, because package
// managers link them.
func Shared(info fs.FileInfo) bool { return Linked(info) && info.Mode()&0o004 == 0 }

// Linked reports whether a regular file has several names (hard links).
func Linked(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && stat.Nlink > 1
}

//go:build unix

package disk

import (
	"io/fs"
	"syscall"
)

// NonBlocking are the flags that open a FIFO without waiting for its other end; writing
// to a FIFO without a reader is then an error.
const NonBlocking = syscall.O_NONBLOCK | syscall.O_NOCTTY

// Shared reports whether a regular file has several names, and not everybody may read
// it: one of the names may be in a place that a decision has not looked at. Files that
// everybody may read are not meant, since package managers link those.
func Shared(info fs.FileInfo) bool { return Linked(info) && info.Mode()&0o004 == 0 }

// Linked reports whether a regular file has several names (hard links).
func Linked(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && stat.Nlink > 1
}

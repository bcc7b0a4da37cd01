package changes

import (
	"io/fs"
	"syscall"
)

// hasCTime reports whether the ctime of a node is more than its mtime.
const hasCTime = true

// nodeOf returns the node of an entry. Its ctime changes with each change of content or mode,
// and no ordinary program can set it.
func nodeOf(info fs.FileInfo) node {
	n := plainNode(info)
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		n.CTime = stat.Ctimespec.Nano()
		n.Inode, n.Device = stat.Ino, uint64(stat.Dev)
	}
	return n
}

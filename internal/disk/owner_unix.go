//go:build unix

package disk

import (
	"io/fs"
	"os"
	"syscall"
)

func accessOf(info fs.FileInfo) (access, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return access{}, false
	}
	return access{int(stat.Uid), int(stat.Gid), os.Geteuid()}, true
}

// keepOwner gives f the owner and group of like, and reports whether that was possible.
func keepOwner(f *os.File, like fs.FileInfo) bool {
	want, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	if have, ok := info.Sys().(*syscall.Stat_t); ok && have.Uid == want.Uid && have.Gid == want.Gid {
		return true
	}
	return f.Chown(int(want.Uid), int(want.Gid)) == nil
}

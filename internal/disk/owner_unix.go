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

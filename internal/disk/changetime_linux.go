package disk

import (
	"io/fs"
	"syscall"
	"time"
)

// ChangeTime returns the time of the inode's last change; no process can set it.
func ChangeTime(info fs.FileInfo) time.Time {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(stat.Ctim.Unix())
	}
	return time.Now()
}

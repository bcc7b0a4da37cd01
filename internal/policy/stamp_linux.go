package policy

import (
	"time"

	"golang.org/x/sys/unix"
)

// stamp detects changes of a folder. No process can set the change time of an inode.
type stamp struct {
	device, inode uint64
	changed       unix.Timespec
}

func stampOf(path string) (stamp, time.Duration, error) {
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return stamp{}, 0, err
	}
	return stamp{stat.Dev, stat.Ino, stat.Ctim}, time.Since(time.Unix(stat.Ctim.Unix())), nil
}

// sameFolder reports whether both stamps are of the same folder.
func (s stamp) sameFolder(other stamp) bool {
	return s.device == other.device && s.inode == other.inode
}

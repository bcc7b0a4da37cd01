package policy

import (
	"errors"
	"os"
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
func (s stamp) sameFolder(t stamp) bool {
	return s.device == t.device && s.inode == t.inode
}

// identity identifies a file under each of its names. Its birth time distinguishes it from a later
// file with the same inode number.
type identity struct {
	device, inode uint64
	birth         unix.StatxTimestamp
	folder        bool
}

func (id identity) record() secretRecord {
	return secretRecord{
		Device: id.device, Inode: id.inode, Seconds: id.birth.Sec, Nanos: id.birth.Nsec, Folder: id.folder,
	}
}

func identityFrom(r secretRecord) identity {
	return identity{r.Device, r.Inode, unix.StatxTimestamp{Sec: r.Seconds, Nsec: r.Nanos}, r.Folder}
}

// errNoIdentity: the file system does not record births.
var errNoIdentity = errors.New("the file has no identity")

func identityOf(path string) (identity, error) { return identityAt(unix.AT_FDCWD, path) }

func identityOfFile(file *os.File) (identity, error) { return identityAt(int(file.Fd()), "") }

func identityAt(fd int, path string) (identity, error) {
	var stat unix.Statx_t
	err := unix.Statx(fd, path, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW,
		unix.STATX_TYPE|unix.STATX_INO|unix.STATX_BTIME, &stat)
	if err == nil && stat.Mask&unix.STATX_BTIME == 0 {
		err = errNoIdentity
	}
	folder := stat.Mode&unix.S_IFMT == unix.S_IFDIR
	return identity{unix.Mkdev(stat.Dev_major, stat.Dev_minor), stat.Ino, stat.Btime, folder}, err
}

//go:build unix

package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock takes the lock of the open file, if it is free. The kernel releases it when the last
// descriptor of this opening is closed. The code never unlocks it, because that would release it
// for inheriting processes too.
func TryLock(f *os.File) (free bool, err error) { return flock(f, unix.LOCK_EX) }

// TryShare takes the lock for reading, to test it, unless a process holds it exclusively.
func TryShare(f *os.File) (free bool, err error) { return flock(f, unix.LOCK_SH) }

func flock(f *os.File, how int) (free bool, err error) {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}

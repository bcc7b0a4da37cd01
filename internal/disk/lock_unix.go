//go:build unix

package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock takes the lock on the open file, if it is free. The kernel gives it
// back when the last descriptor of this opening is closed; it is never
// unlocked by hand, since that would take it from those that inherited it.
func TryLock(f *os.File) (free bool, err error) { return flock(f, unix.LOCK_EX) }

// TryShare takes the lock for reading, if nobody has it for himself: to see
// whether it is free.
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

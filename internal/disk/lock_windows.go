package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is the offset of the locked byte: far behind the end, because Windows denies
// reading locked bytes.
const lockOffset = 0x7fffffff

// TryLock takes the lock of the open file, if it is free. The kernel releases it when the file
// is closed.
func TryLock(f *os.File) (free bool, err error) {
	return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK)
}

// TryShare takes the lock for reading, to test it, unless a process holds it exclusively.
func TryShare(f *os.File) (free bool, err error) { return lock(f, 0) }

func lock(f *os.File, how uint32) (free bool, err error) {
	at := &windows.Overlapped{OffsetHigh: lockOffset}
	err = windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return false, nil
	}
	return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
}

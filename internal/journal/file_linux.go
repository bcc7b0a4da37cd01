package journal

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Sync implements [File]. The file's times need not be durable.
func (f diskFile) Sync() error {
	return f.control("sync", unix.Fdatasync)
}

// Allocate implements [File].
func (f diskFile) Allocate(off, size int64) error {
	err := f.control("allocate", func(fd int) error {
		return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, off, size)
	})
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

// control runs call on the descriptor until no signal interrupts it.
func (f diskFile) control(op string, call func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		for {
			if failed = call(int(fd)); failed != unix.EINTR { //nolint:errorlint // as the call returns it
				return
			}
		}
	})
	if err == nil && failed != nil {
		err = &os.PathError{Op: op, Path: f.Name(), Err: failed}
	}
	return err
}

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/settle-agent/settle/internal/safefile"
)

// ErrDirectory says that a path is a directory where a file was wanted.
var ErrDirectory = errors.New("is a directory")

// Open opens the regular file at path for reading. What is not one is
// refused: a directory with ErrDirectory, and FIFOs, sockets and devices,
// which could wait for ever or never end, without opening them if they were
// seen in time, and without blocking in any case.
func Open(path string) (*os.File, fs.FileInfo, error) {
	return safefile.Open(path, func(info fs.FileInfo) error { return checkRegular(path, info) })
}

func checkRegular(path string, info fs.FileInfo) error {
	if info.IsDir() {
		return fmt.Errorf("%q %w", path, ErrDirectory)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%q is %s, not a regular file; it is not read", path, Kind(info.Mode()))
	}
	return nil
}

// Kind names the type of a file for people.
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode.IsRegular():
		return "a file"
	}
	return "a special file"
}

package disk

import (
	"errors"
	"fmt"
	"io/fs"
)

// ErrDirectory says that a path is a directory where a file was wanted.
var ErrDirectory = errors.New("is a directory")

// checkRegular returns an error for what is no regular file: FIFOs, sockets and devices
// could wait for ever or never end.
func checkRegular(name string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return fmt.Errorf("%q %w", name, ErrDirectory)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%q is %s, not a regular file; it is not read", name, Kind(info.Mode()))
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

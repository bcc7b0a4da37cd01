package disk

import (
	"errors"
	"fmt"
	"io/fs"
)

// ErrDirectory reports a directory instead of a file.
var ErrDirectory = errors.New("is a directory")

// A NotRegularError reports a path that is no regular file: a directory, or a FIFO, socket or
// device, which could block or never end.
type NotRegularError struct {
	Path string
	Mode fs.FileMode // of the resolved path
}

func (e *NotRegularError) Error() string {
	return fmt.Sprintf("%q is %s, not a regular file; it was not read", e.Path, Kind(e.Mode))
}

// Is reports whether the path is a directory, for [ErrDirectory].
func (e *NotRegularError) Is(target error) bool { return target == ErrDirectory && e.Mode.IsDir() }

// checkRegular returns a [*NotRegularError] for a file that is not regular.
func checkRegular(name string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &NotRegularError{Path: name, Mode: info.Mode()}
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

package safefile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Read returns the first limit bytes of a regular file, following links, and
// the file's size. It never waits: what is not a regular file is an error.
func Read(path string, limit int64) (data []byte, size int64, err error) {
	return ReadIf(path, limit, func(fs.FileInfo) error { return nil })
}

// ReadIf is [Read] of a file that accept, which sees the open file, does not
// refuse.
func ReadIf(path string, limit int64, accept func(fs.FileInfo) error) (data []byte, size int64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("cannot read %q: it is %s, not a file", path, what(info.Mode()))
	}
	file, err := open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if info, err = file.Stat(); err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("cannot read %q: it is %s, not a file", path, what(info.Mode()))
	}
	if err := accept(info); err != nil {
		return nil, 0, err
	}
	data, err = io.ReadAll(io.LimitReader(file, limit))
	if err != nil {
		return nil, 0, fmt.Errorf("cannot read %q: %w", path, err)
	}
	return data, max(info.Size(), int64(len(data))), nil
}

func what(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

package safefile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Open opens a file for reading, following links, if check has nothing against
// it: before it is opened, so that nothing is that must not be, and as it is open
// then. It never waits.
func Open(path string, check func(fs.FileInfo) error) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if err := check(info); err != nil {
		return nil, nil, err
	}
	file, err := open(path)
	if err != nil {
		return nil, nil, err
	}
	if info, err = file.Stat(); err == nil {
		err = check(info)
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, nil, err
	}
	return file, info, nil
}

// Read returns the first limit bytes of a regular file, following links, and
// the file's size. It never waits: what is not a regular file is an error.
func Read(path string, limit int64) (data []byte, size int64, err error) {
	return ReadIf(path, limit, func(fs.FileInfo) error { return nil })
}

// ReadIf is [Read] of a file that accept, which sees the open file, does not
// refuse.
func ReadIf(path string, limit int64, accept func(fs.FileInfo) error) (data []byte, size int64, err error) {
	file, info, err := Open(path, func(info fs.FileInfo) error {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("cannot read %q: it is %s, not a file", path, what(info.Mode()))
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }() // it was only read
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

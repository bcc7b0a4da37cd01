package safefile

import (
	"fmt"
	"io"
	"io/fs"

	"github.com/settle-agent/settle/internal/disk"
)

// Read returns the first limit bytes of a regular file, following links, and
// the file's size. It never waits: what is not a regular file is an error.
func Read(path string, limit int64) (data []byte, size int64, err error) {
	return ReadIf(path, limit, func(fs.FileInfo) error { return nil })
}

// ReadIf is [Read] of a file that accept, which sees the open file, does not
// refuse.
func ReadIf(path string, limit int64, accept func(fs.FileInfo) error) (data []byte, size int64, err error) {
	file, info, err := disk.OpenRegular(path)
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

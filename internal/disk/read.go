package disk

import (
	"fmt"
	"io"
	"os"
)

// Read returns the first limit bytes of the place, which must be a regular file, and the file's
// size.
func (p Place) Read(limit int64) (data []byte, size int64, err error) {
	f, _, err := p.Open()
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return ReadHead(f, p.Shown, limit)
}

// Read returns the first limit bytes of a regular file, following links, and the file's size. It
// never blocks: other files are an error.
func Read(path string, limit int64) (data []byte, size int64, err error) {
	file, _, err := OpenRegular(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }() // it was only read
	return ReadHead(file, path, limit)
}

// ReadHead returns the first limit bytes of an open file, and its size. The name is for errors.
func ReadHead(f *os.File, name string, limit int64) (data []byte, size int64, err error) {
	info, err := f.Stat()
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(f, limit))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("cannot read %q: %w", name, err)
	}
	return data, max(info.Size(), int64(len(data))), nil
}

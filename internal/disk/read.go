package disk

import (
	"fmt"
	"io"
)

// Read returns the first limit bytes of the place, which must be a regular file, and the
// file's size.
func (p Place) Read(limit int64) (data []byte, size int64, err error) {
	f, info, err := p.Open()
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err = io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, 0, fmt.Errorf("cannot read %q: %w", p.Shown, err)
	}
	return data, max(info.Size(), int64(len(data))), nil
}

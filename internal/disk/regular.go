package disk

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// A TooLargeError reports a file with more bytes than its reader accepts.
type TooLargeError struct {
	Path string
	Max  int64 // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%q is larger than %s, the limit for this file; it was not used", e.Path, size(e.Max))
}

// OpenRegular opens the regular file at path for reading; it follows links. It never blocks. For
// a directory, FIFO, socket or device it returns a [*NotRegularError] without opening it, unless
// the file is replaced between check and open.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if err := checkRegular(path, info); err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(path, os.O_RDONLY|NonBlocking, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = file.Stat(); err == nil {
		err = checkRegular(path, info)
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, nil, err
	}
	return file, info, nil
}

// ReadRegular returns the content of the regular file at path, if it has at most limit bytes.
// Otherwise it returns a [*TooLargeError] after reading at most limit+1 bytes.
func ReadRegular(path string, limit int64) ([]byte, error) {
	file, info, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if info.Size() > limit {
		return nil, &TooLargeError{Path: path, Max: limit}
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1)) // the file can grow, and has no size in /proc
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", path, err)
	}
	if int64(len(data)) > limit {
		return nil, &TooLargeError{Path: path, Max: limit}
	}
	return data, nil
}

// size formats an exact number of bytes.
func size(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

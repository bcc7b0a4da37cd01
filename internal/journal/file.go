package journal

import (
	"io"
	"os"
	"path/filepath"
)

// File has the operations on a session's file. Tests inject faults with [Options.Wrap].
type File interface {
	io.ReaderAt
	io.WriterAt
	// Sync makes the written data durable.
	Sync() error
	// SyncName makes the file's name durable.
	SyncName() error
	// Truncate sets the file's length and frees the space after it.
	Truncate(size int64) error
	// Allocate reserves disk space for the bytes without changing the file's length. Its error
	// is [errors.ErrUnsupported] on systems without such a call.
	Allocate(off, size int64) error
	Close() error
}

// diskFile is a File on a disk.
type diskFile struct{ *os.File }

// SyncName implements [File].
func (f diskFile) SyncName() error { return syncDir(filepath.Dir(f.Name())) }

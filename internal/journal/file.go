package journal

import (
	"io"
	"os"
	"path/filepath"
)

// File is what the journal does with a session's file. Tests put faults in
// between, with [Options.Wrap].
type File interface {
	io.ReaderAt
	io.WriterAt
	// Sync puts what was written on stable storage.
	Sync() error
	// SyncName puts the file's name on stable storage.
	SyncName() error
	// Truncate sets the file's length and gives back what is allocated beyond.
	Truncate(size int64) error
	// Allocate makes sure that the disk has room for the bytes, without
	// changing the file's length. Its error is [errors.ErrUnsupported] where
	// the system cannot.
	Allocate(off, size int64) error
	Close() error
}

// diskFile is a File on a disk.
type diskFile struct{ *os.File }

// SyncName implements [File].
func (f diskFile) SyncName() error { return syncDir(filepath.Dir(f.Name())) }

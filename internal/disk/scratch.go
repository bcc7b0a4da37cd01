package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// prefix starts the names of the directories.
const prefix = "settle-tmp-"

// Scratch is a directory for temporary files.
type Scratch struct {
	// Path is absolute and without links.
	Path string
	lock *os.File // the directory itself; nil on systems without such locks
}

// maxTries bounds the attempts to create a directory that another process sweeps before it is
// locked.
const maxTries = 10

// NewScratch creates a directory that only this user can read; kind is part of its name. The
// caller removes it.
func NewScratch(kind string) (*Scratch, error) {
	base, err := filepath.EvalSymlinks(os.TempDir())
	if err == nil {
		base, err = filepath.Abs(base)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for temporary files: %w", err)
	}
	for range maxTries {
		path, err := os.MkdirTemp(base, prefix+boot()+"-"+kind+"-")
		if err != nil {
			return nil, fmt.Errorf("cannot make a directory for temporary files: %w", err)
		}
		lock, ours, err := hold(path)
		if err != nil {
			return nil, errors.Join(
				fmt.Errorf("cannot make a directory for temporary files: %w", err), os.RemoveAll(path),
			)
		}
		if ours {
			return &Scratch{path, lock}, nil
		}
	}
	return nil, fmt.Errorf("cannot make a directory for temporary files: others remove it from %q", base)
}

// removeTimeout bounds the removal of a directory at the end of its process. sweepTimeout bounds
// one sweep, which removes the directories of dead processes.
const (
	removeTimeout = time.Second
	sweepTimeout  = time.Second / 2
)

// Remove removes the directory recursively, as far as that is possible in time. A later sweep
// removes the rest.
func (d *Scratch) Remove() error {
	err := removeTree(d.Path, time.Now().Add(removeTimeout))
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}

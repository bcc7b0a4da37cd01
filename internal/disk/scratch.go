package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// prefix is what the names of the directories begin with.
const prefix = "settle-tmp-"

// Dir is a directory for temporary files.
type Scratch struct {
	// Path is absolute and without links.
	Path string
	lock *os.File // the directory itself; nil where there are no such locks
}

// mostTries bounds how often a directory is made anew that was swept away before it
// was locked.
const mostTries = 10

// New makes a directory, which only this user can read; kind is part of its name. The
// caller removes it.
func NewScratch(kind string) (*Scratch, error) {
	base, err := filepath.EvalSymlinks(os.TempDir())
	if err == nil {
		base, err = filepath.Abs(base)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for temporary files: %w", err)
	}
	for range mostTries {
		path, err := os.MkdirTemp(base, prefix+boot()+"-"+kind+"-")
		if err != nil {
			return nil, fmt.Errorf("cannot make a directory for temporary files: %w", err)
		}
		lock, ours, err := hold(path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cannot make a directory for temporary files: %w", err), os.RemoveAll(path))
		}
		if ours {
			return &Scratch{path, lock}, nil
		}
	}
	return nil, fmt.Errorf("cannot make a directory for temporary files: others remove it from %q", base)
}

// Remove removes the directory with all that is in it.
func (d *Scratch) Remove() error {
	err := os.RemoveAll(d.Path)
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}

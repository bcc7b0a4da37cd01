package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// errSlow is the error of a removal that was cut.
var errSlow = errors.New("not all was removed in time; a later session removes the rest")

// remover removes a tree that a command made: of any depth, with few open files, in a bounded
// time, and also where the command removed its own rights.
type remover struct {
	root    *os.Root
	until   time.Time
	renamed int
}

// removeTree removes a directory recursively until a point in time.
func removeTree(path string, until time.Time) error {
	root, err := os.OpenRoot(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	r := remover{root: root, until: until}
	err = r.each(root, r.flatten)
	if err = errors.Join(err, root.Close()); err != nil {
		return fmt.Errorf("cannot remove %q: %w", path, err)
	}
	return os.Remove(path)
}

// each calls f for the entries of a directory until none is left. f removes the entry, or
// fails.
func (r *remover) each(dir *os.Root, f func(name string) error) error {
	for {
		list, err := dir.Open(".")
		if err != nil {
			return err
		}
		names, err := list.Readdirnames(maxEntries)
		_ = list.Close() // it was only read
		if len(names) == 0 {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		for _, name := range names {
			if time.Now().After(r.until) {
				return errSlow
			}
			if err := f(name); err != nil {
				return err
			}
		}
	}
}

// maxEntries bounds the names that are read at once.
const maxEntries = 1024

// flatten removes an entry of the root. It moves the folders in it to the root, where they
// are removed later.
func (r *remover) flatten(name string) error {
	if r.root.Remove(name) == nil {
		return nil
	}
	if err := r.regain(r.root, name); err != nil {
		return err
	}
	dir, err := r.root.OpenRoot(name)
	if err != nil {
		return err
	}
	err = r.each(dir, func(child string) error {
		if dir.Remove(child) == nil {
			return nil
		}
		if err := r.regain(dir, child); err != nil { // rename(2) of a folder changes its ".."
			return err
		}
		for {
			r.renamed++
			to := fmt.Sprintf("settle-removed-%d", r.renamed)
			if _, err := r.root.Lstat(to); err == nil {
				continue
			}
			return r.root.Rename(name+"/"+child, to)
		}
	})
	if err := errors.Join(err, dir.Close()); err != nil {
		return err
	}
	return r.root.Remove(name)
}

// regain gives the user all rights to a folder.
func (r *remover) regain(dir *os.Root, name string) error {
	info, err := dir.Lstat(name)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o700 == 0o700 {
		return err
	}
	return dir.Chmod(name, 0o700)
}

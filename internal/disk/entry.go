package disk

import (
	"errors"
	"io/fs"
	"os"
)

// OpenWrite opens an entry, which must be a regular file, for writing in place, and creates it
// if it is missing. It neither truncates the file nor blocks.
func (d *Dir) OpenWrite(name string, mode fs.FileMode) (*os.File, fs.FileInfo, error) {
	before, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		f, err := d.Create(name, mode)
		if err != nil {
			return nil, nil, err
		}
		info, err := f.Stat()
		if err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
		return f, info, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return d.openEntry(name, before, os.O_WRONLY)
}

// RemoveAll removes an entry recursively, without following links.
func (d *Dir) RemoveAll(name string) error {
	if err := check(name); err != nil {
		return err
	}
	return d.root.RemoveAll(name)
}

// Readlink returns the target of a link.
func (d *Dir) Readlink(name string) (string, error) {
	if err := check(name); err != nil {
		return "", err
	}
	return d.root.Readlink(name)
}

// Symlink creates a link.
func (d *Dir) Symlink(target, name string) error {
	if err := check(name); err != nil {
		return err
	}
	return d.root.Symlink(target, name)
}

// Chmod changes the mode of the directory itself.
func (d *Dir) Chmod(mode fs.FileMode) error { return d.root.Chmod(".", mode) }

// Stat describes the directory itself.
func (d *Dir) Stat() (fs.FileInfo, error) { return d.root.Stat(".") }

// ChangeMode sets the permissions of an entry, which must be a file or a directory.
func (d *Dir) ChangeMode(name string, mode fs.FileMode) error {
	if err := check(name); err != nil {
		return err
	}
	_, err := ChangeMode(d.root, name, func(fs.FileInfo) fs.FileMode { return mode })
	return err
}

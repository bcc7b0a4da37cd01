package execserver

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/settle-agent/settle/internal/disk"
)

type copyParams struct {
	Source      place           `json:"sourcePath"`
	Destination place           `json:"destinationPath"`
	Recursive   *bool           `json:"recursive"`
	Sandbox     *sandboxContext `json:"sandbox"`
}

// copy copies a file, a link as a link, or a folder with all that is in it.
func (c *conn) copy(ctx context.Context, params copyParams) (any, error) {
	if params.Recursive == nil {
		return nil, invalidParams("missing field `recursive`")
	}
	name, err := params.Source.path("sourcePath")
	if err != nil {
		return nil, err
	}
	parent, err := c.target(place(filepath.Dir(name)), "sourcePath", params.Sandbox, denied)
	if err != nil {
		return nil, err
	}
	if parent.Named == name {
		return nil, invalidRequest("cannot copy %q", name)
	}
	from := parent.entry(filepath.Base(name)) // a link is copied itself
	to, err := c.target(params.Destination, "destinationPath", params.Sandbox, writable)
	if err != nil {
		return nil, err
	}
	info, err := from.stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir() && !*params.Recursive:
		return nil, invalidRequest("fs/copy requires recursive: true when sourcePath is a directory")
	case info.IsDir() && disk.Within(from.Real, to.Real):
		return nil, invalidRequest("fs/copy cannot copy a directory to itself or one of its descendants")
	}
	return struct{}{}, copyAll(ctx, from, to, info)
}

// copyAll copies one thing.
func copyAll(ctx context.Context, from, to target, info fs.FileInfo) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := errors.Join(from.need(readable), to.need(writable)); err != nil {
		return err
	}
	switch {
	case info.IsDir():
		return copyFolder(ctx, from, to, info)
	case info.Mode()&fs.ModeSymlink != 0:
		return copyLink(from, to)
	case !info.Mode().IsRegular():
		return invalidRequest("fs/copy only supports regular files, directories, and symlinks; %q is none", from.Named)
	}
	return copyFile(from, to, info)
}

func copyLink(from, to target) error {
	var linkTarget string
	err := from.within(func(d *disk.Dir, name string) (err error) {
		linkTarget, err = d.Readlink(name)
		return err
	})
	if err != nil {
		return err
	}
	return to.within(func(d *disk.Dir, name string) error { return d.Symlink(linkTarget, name) })
}

func copyFile(from, to target, info fs.FileInfo) error {
	source, err := from.read()
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // it was only read
	if same, err := to.stat(); err == nil && os.SameFile(info, same) {
		return nil
	}
	file, err := to.create()
	if err != nil {
		return err
	}
	_, err = io.Copy(file, source)
	if err == nil {
		err = file.Chmod(info.Mode().Perm())
	}
	return errors.Join(err, file.Close())
}

func copyFolder(ctx context.Context, from, to target, info fs.FileInfo) error {
	entries, err := from.list(maxListed)
	if err != nil {
		return err
	}
	if err := to.makeDirectory(true); err != nil {
		return err
	}
	for _, e := range entries {
		next := from.entry(e.Name())
		below, err := next.stat()
		if err != nil {
			return err
		}
		if err := copyAll(ctx, next, to.entry(e.Name()), below); err != nil {
			return err
		}
	}
	d, err := to.Tree()
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Chmod(info.Mode().Perm())
}

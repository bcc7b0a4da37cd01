package execserver

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	from := target{filepath.Join(parent.path, filepath.Base(name)), parent.rights} // a link is copied itself
	to, err := c.target(params.Destination, "destinationPath", params.Sandbox, writable)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(from.path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir() && !*params.Recursive:
		return nil, invalidRequest("fs/copy requires recursive: true when sourcePath is a directory")
	case info.IsDir() && within(from.path, to.path):
		return nil, invalidRequest("fs/copy cannot copy a directory to itself or one of its descendants")
	}
	return struct{}{}, copyAll(ctx, from, to, info)
}

// copyAll copies one thing.
func copyAll(ctx context.Context, from, to target, info fs.FileInfo) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	switch {
	case from.rights.may(from.path) < readable:
		return invalidRequest("the sandbox does not allow to read %q", from.path)
	case to.rights.may(to.path) < writable:
		return invalidRequest("the sandbox does not allow to write %q", to.path)
	case info.IsDir():
		return copyFolder(ctx, from, to, info)
	case info.Mode()&fs.ModeSymlink != 0:
		leads, err := os.Readlink(from.path)
		if err != nil {
			return err
		}
		return to.within(func(root *os.Root, name string) error { return root.Symlink(leads, name) })
	case !info.Mode().IsRegular():
		return invalidRequest("fs/copy only supports regular files, directories, and symlinks; %q is none", from.path)
	}
	return copyFile(from, to, info)
}

func copyFile(from, to target, info fs.FileInfo) error {
	source, err := from.read()
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // it was only read
	if same, err := os.Stat(to.path); err == nil && os.SameFile(info, same) {
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
	entries, err := from.list(mostEntries)
	if err != nil {
		return err
	}
	if err := to.makeDirectory(true); err != nil {
		return err
	}
	for _, e := range entries {
		below, err := os.Lstat(filepath.Join(from.path, e.Name()))
		if err != nil {
			return err
		}
		next := func(t target) target { return target{filepath.Join(t.path, e.Name()), t.rights} }
		if err := copyAll(ctx, next(from), next(to), below); err != nil {
			return err
		}
	}
	if to.rights.confined {
		return nil // somebody could have put a link in its place
	}
	return os.Chmod(to.path, info.Mode().Perm())
}

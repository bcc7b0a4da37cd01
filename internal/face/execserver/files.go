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

// mostFile is the largest file that one request reads or writes.
const mostFile = 64 << 20

// fileParams are those of most requests about one path.
type fileParams struct {
	Path    place           `json:"path"`
	Sandbox *sandboxContext `json:"sandbox"`
}

// target is a path with the rights to it.
type target struct {
	path   string // without links where rights are confined
	rights rights
}

// target returns what a request is about, if it may have the access to it.
func (c *conn) target(path place, parameter string, from *sandboxContext, need access) (target, error) {
	name, err := path.path(parameter)
	if err != nil {
		return target{}, err
	}
	r, err := c.server.rights(from)
	if err != nil || !r.confined {
		return target{name, r}, err
	}
	if err := canConfineFiles(); err != nil {
		return target{}, err
	}
	real, err := locate(name)
	if err != nil {
		return target{}, err
	}
	if r.may(real) < need {
		verb := "read"
		if need == writable {
			verb = "write"
		}
		return target{}, invalidRequest("the sandbox does not allow to %s %q", verb, name)
	}
	return target{real, r}, nil
}

// regular returns an error for what is no regular file.
func regular(path string) func(fs.FileInfo) error {
	return func(info fs.FileInfo) error {
		if !info.Mode().IsRegular() {
			return notFile(path)
		}
		return nil
	}
}

// notFile is Codex's error for a path that leads to no regular file.
func notFile(path string) error { return invalidRequest("path `%s` is not a file", path) }

// read opens a regular file for reading.
func (t target) read() (*os.File, error) {
	if !t.rights.confined {
		f, _, err := disk.OpenRegular(t.path)
		if special := (*disk.NotRegularError)(nil); errors.As(err, &special) {
			err = notFile(t.path)
		}
		return f, err
	}
	f, err := openPlain(t.path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return f, checked(f, t.path)
}

// checked closes a file that is no regular one.
func checked(f *os.File, path string) error {
	info, err := f.Stat()
	if err == nil {
		err = regular(path)(info)
	}
	if err != nil {
		_ = f.Close() // nothing was written
	}
	return err
}

// create opens a regular file for writing, and empties it.
func (t target) create() (*os.File, error) {
	if info, err := os.Stat(t.path); err == nil {
		if err := regular(t.path)(info); err != nil {
			return nil, err // a pipe would wait
		}
	}
	open := os.OpenFile
	if t.rights.confined {
		open = openPlain
	}
	file, err := open(t.path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := checked(file, t.path); err != nil {
		return nil, err
	}
	if err := file.Truncate(0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// within calls do with the folder that the target is in, and its name there.
func (t target) within(do func(root *os.Root, name string) error) error {
	dir, name := filepath.Split(t.path)
	if name == "" {
		return invalidRequest("cannot change %q", t.path)
	}
	if t.rights.confined {
		return inPlain(filepath.Clean(dir), func(root *os.Root) error { return do(root, name) })
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written
	return do(root, name)
}

func (c *conn) readFile(_ context.Context, params fileParams) (any, error) {
	t, err := c.target(params.Path, "path", params.Sandbox, readable)
	if err != nil {
		return nil, err
	}
	f, err := t.read()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > mostFile:
		return nil, invalidRequest("%q has more than %d bytes; read it with fs/open", t.path, mostFile)
	}
	return fileData{data}, nil
}

type fileData struct {
	Data []byte `json:"dataBase64"`
}

type writeFileParams struct {
	fileParams

	Data *[]byte `json:"dataBase64"`
}

func (c *conn) writeFile(_ context.Context, params writeFileParams) (any, error) {
	if params.Data == nil {
		return nil, invalidParams("missing field `dataBase64`")
	}
	t, err := c.target(params.Path, "path", params.Sandbox, writable)
	if err != nil {
		return nil, err
	}
	f, err := t.create()
	if err != nil {
		return nil, err
	}
	_, err = f.Write(*params.Data)
	return struct{}{}, errors.Join(err, f.Close())
}

type directoryParams struct {
	fileParams

	Recursive *bool `json:"recursive"`
}

func (c *conn) createDirectory(_ context.Context, params directoryParams) (any, error) {
	t, err := c.target(params.Path, "path", params.Sandbox, writable)
	if err != nil {
		return nil, err
	}
	parents := params.Recursive == nil || *params.Recursive
	return struct{}{}, t.makeDirectory(parents)
}

// makeDirectory makes a folder, and those above it that are missing, one by one.
func (t target) makeDirectory(parents bool) error {
	above := target{filepath.Dir(t.path), t.rights}
	if parents && above.path != t.path && !exists(above.path) {
		if err := above.makeDirectory(true); err != nil {
			return err
		}
	}
	err := t.within(func(root *os.Root, name string) error { return root.Mkdir(name, 0o777) })
	if info, failed := os.Stat(t.path); parents && failed == nil && info.IsDir() {
		return nil
	}
	return err
}

type metadata struct {
	Directory bool  `json:"isDirectory"`
	File      bool  `json:"isFile"`
	Link      bool  `json:"isSymlink"`
	Size      int64 `json:"size"`
	Created   int64 `json:"createdAtMs"`
	Modified  int64 `json:"modifiedAtMs"`
}

func (c *conn) getMetadata(_ context.Context, params fileParams) (any, error) {
	t, err := c.target(params.Path, "path", params.Sandbox, readable)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(t.path)
	if err != nil {
		return nil, err
	}
	link, err := os.Lstat(string(params.Path))
	if err != nil {
		return nil, err
	}
	return metadata{
		Directory: info.IsDir(), File: info.Mode().IsRegular(), Link: link.Mode()&fs.ModeSymlink != 0,
		Size: info.Size(), Modified: info.ModTime().UnixMilli(),
	}, nil
}

func (c *conn) canonicalize(_ context.Context, params fileParams) (any, error) {
	t, err := c.target(params.Path, "path", params.Sandbox, readable)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(t.path)
	if err != nil {
		return nil, err
	}
	return struct {
		Path place `json:"path"`
	}{place(real)}, nil
}

type removeParams struct {
	fileParams

	Recursive *bool `json:"recursive"`
	Force     *bool `json:"force"`
}

// remove removes what is at a path: a link itself, never what it leads to.
func (c *conn) remove(_ context.Context, params removeParams) (any, error) {
	name, err := params.Path.path("path")
	if err != nil {
		return nil, err
	}
	parent, err := c.target(place(filepath.Dir(name)), "path", params.Sandbox, denied)
	if err != nil {
		return nil, forgiven(err, params.Force)
	}
	t := target{filepath.Join(parent.path, filepath.Base(name)), parent.rights}
	if t.rights.confined && t.rights.mayTree(t.path) < writable {
		return nil, invalidRequest("the sandbox does not allow to remove %q", name)
	}
	all := params.Recursive == nil || *params.Recursive
	err = t.within(func(root *os.Root, name string) error {
		if _, err := root.Lstat(name); err != nil {
			return err
		}
		if all {
			return root.RemoveAll(name)
		}
		return root.Remove(name)
	})
	return struct{}{}, forgiven(err, params.Force)
}

// forgiven drops the error that there was nothing, unless the client wants to know.
func forgiven(err error, force *bool) error {
	if errors.Is(err, fs.ErrNotExist) && (force == nil || *force) {
		return nil
	}
	return err
}

package execserver

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/settle-agent/settle/internal/disk"
)

// maxFile is the largest file that one request reads or writes.
const maxFile = 64 << 20

// fileParams are the parameters of most requests about one path.
type fileParams struct {
	Path    place           `json:"path"`
	Sandbox *sandboxContext `json:"sandbox"`
}

// target is the resolved place of a path, with the rights of the request. Operations use
// the place through descriptors: a link that appears in the path in between is an error
// (C22).
type target struct {
	disk.Place

	rights rights
}

// target returns the file of a request, if the request has the needed access to it.
func (c *conn) target(path place, parameter string, from *sandboxContext, need access) (target, error) {
	name, err := path.path(parameter)
	if err != nil {
		return target{}, err
	}
	r, err := c.server.rights(from)
	if err != nil {
		return target{}, err
	}
	if r.confined && runtime.GOOS != "linux" { // where a name can be written in several ways
		return target{}, unenforced("rights to files on this platform")
	}
	real, err := disk.Resolve(name)
	if err != nil {
		return target{}, err
	}
	t := target{disk.At("", name, real), r}
	return t, t.need(need)
}

// need returns an error if the request has less than the access to the target.
func (t target) need(need access) error {
	if t.rights.may(t.Real) >= need {
		return nil
	}
	verb := "read"
	if need == writable {
		verb = "write"
	}
	return invalidRequest("the sandbox does not allow to %s %q", verb, t.Named)
}

// entry returns the folder's entry of a name: the link itself if the entry is a link.
func (t target) entry(name string) target {
	return target{disk.At("", filepath.Join(t.Named, name), filepath.Join(t.Real, name)), t.rights}
}

func (t target) isRoot() bool { return filepath.Dir(t.Real) == t.Real }

// stat describes the target.
func (t target) stat() (fs.FileInfo, error) {
	if t.isRoot() {
		return os.Lstat(t.Real) // which nothing can replace
	}
	d, err := t.Dir()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Lstat(t.Base())
}

// read opens a regular file for reading.
func (t target) read() (*os.File, error) {
	f, _, err := t.Open()
	return f, t.regular(err)
}

// regular returns the protocol's error for a file that is not regular.
func (t target) regular(err error) error {
	if irregular := (*disk.NotRegularError)(nil); errors.As(err, &irregular) || errors.Is(err, disk.ErrDirectory) {
		return invalidRequest("path `%s` is not a file", t.Named)
	}
	return err
}

// create opens a regular file for writing, and empties it.
func (t target) create() (*os.File, error) {
	d, err := t.Dir()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	file, info, err := d.OpenWrite(t.Base(), 0o666)
	if err != nil {
		return nil, t.regular(err)
	}
	if t.rights.confined && disk.Linked(info) {
		err = invalidRequest(
			"cannot write %q: it has other names (hard links), and the sandbox does not know where; remove it first",
			t.Named,
		)
	} else {
		err = file.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// within calls do with the folder that the target is in, and its name there.
func (t target) within(do func(d *disk.Dir, name string) error) error {
	if t.isRoot() {
		return invalidRequest("cannot change %q", t.Named)
	}
	d, err := t.Dir()
	if err != nil {
		return err
	}
	defer d.Close()
	return do(d, t.Base())
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
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxFile:
		return nil, invalidRequest("%q has more than %d bytes; read it with fs/open", t.Named, maxFile)
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

// makeDirectory makes a folder and its missing parents, one by one.
func (t target) makeDirectory(parents bool) error {
	if err := t.need(writable); err != nil {
		return err
	}
	make1 := func() error {
		return t.within(func(d *disk.Dir, name string) error {
			err := d.Mkdir(name)
			if !parents || !errors.Is(err, fs.ErrExist) {
				return err
			}
			if info, failed := d.Lstat(name); failed == nil && info.IsDir() {
				return nil
			}
			return err
		})
	}
	err := make1()
	if !parents || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := target{disk.At("", filepath.Dir(t.Named), filepath.Dir(t.Real)), t.rights}
	if err := above.makeDirectory(true); err != nil {
		return err
	}
	return make1()
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
	info, err := t.stat()
	if err != nil {
		return nil, err
	}
	above, err := disk.Resolve(filepath.Dir(t.Named))
	if err != nil {
		return nil, err
	}
	isLink := !t.isRoot() && t.Real != filepath.Join(above, filepath.Base(t.Named))
	return metadata{
		Directory: info.IsDir(), File: info.Mode().IsRegular(), Link: isLink,
		Size: info.Size(), Modified: info.ModTime().UnixMilli(),
	}, nil
}

func (c *conn) canonicalize(_ context.Context, params fileParams) (any, error) {
	t, err := c.target(params.Path, "path", params.Sandbox, readable)
	if err != nil {
		return nil, err
	}
	if _, err := t.stat(); err != nil {
		return nil, err
	}
	return struct {
		Path place `json:"path"`
	}{place(t.Real)}, nil
}

type removeParams struct {
	fileParams

	Recursive *bool `json:"recursive"`
	Force     *bool `json:"force"`
}

// remove removes the entry at a path: a link itself, never its target.
func (c *conn) remove(_ context.Context, params removeParams) (any, error) {
	name, err := params.Path.path("path")
	if err != nil {
		return nil, err
	}
	parent, err := c.target(place(filepath.Dir(name)), "path", params.Sandbox, denied)
	if err != nil {
		return nil, forgiven(err, params.Force)
	}
	if parent.Named == name {
		return nil, invalidRequest("cannot change %q", name)
	}
	t := parent.entry(filepath.Base(name))
	if t.rights.confined && t.rights.mayTree(t.Real) < writable {
		return nil, invalidRequest("the sandbox does not allow to remove %q", name)
	}
	all := params.Recursive == nil || *params.Recursive
	err = t.within(func(d *disk.Dir, name string) error {
		if _, err := d.Lstat(name); err != nil {
			return err
		}
		if all {
			return d.RemoveAll(name)
		}
		return d.Remove(name)
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

package changes

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// Look returns the current version of a path below an open directory, and a file's content. The
// version is nil if there is no such entry: also if something else than a directory is above it.
func Look(root *disk.Dir, name string) (*Version, []byte, error) {
	if err := checkPath(name); err != nil {
		return nil, nil, err
	}
	d, err := parent(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	return look(d, path.Base(name))
}

// Info returns the data of an entry below an open directory.
func Info(root *disk.Dir, name string) (fs.FileInfo, error) {
	if err := checkPath(name); err != nil {
		return nil, err
	}
	d, err := parent(root, name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Lstat(path.Base(name))
}

// parent opens the directory of a path.
func parent(root *disk.Dir, name string) (*disk.Dir, error) {
	at, err := root.Below(".")
	if err != nil {
		return nil, err
	}
	dir := path.Dir(name)
	if dir == "." {
		return at, nil
	}
	for part := range strings.SplitSeq(dir, "/") {
		info, err := at.Lstat(part)
		if err == nil && !info.IsDir() {
			err = fs.ErrNotExist
		}
		var below *disk.Dir
		if err == nil {
			below, err = at.Sub(part)
		}
		at.Close()
		if err != nil {
			return nil, err
		}
		at = below
	}
	return at, nil
}

func look(d *disk.Dir, base string) (*Version, []byte, error) {
	info, err := d.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	n := nodeOf(info)
	v := &Version{Kind: n.Kind, Mode: n.Mode}
	switch n.Kind {
	case Directory:
		return v, nil, nil
	case Link:
		v.Mode = ""
		v.Target, err = d.Readlink(base)
		return v, nil, err
	case special:
		return nil, nil, fmt.Errorf("it is %s now", disk.Kind(info.Mode()))
	}
	f, info, err := d.Open(base)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if info.Size() > maxFile {
		return nil, nil, fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	v.SHA256 = disk.Sum(content)
	return v, content, err
}

// Restore replaces the version now of a path by the version was with its content; a nil was
// removes the entry. It changes nothing if the current version is another one, and it follows no
// link. Missing directories above the path are created.
func Restore(root *disk.Dir, name string, now, was *Version, content []byte) error {
	is, _, err := Look(root, name)
	if err != nil {
		return err
	}
	if !Same(is, now) {
		return fmt.Errorf("%q has just been changed by another program; it was not restored", name)
	}
	d, err := parent(root, name)
	if errors.Is(err, fs.ErrNotExist) && was != nil {
		d, err = makeParent(root, name)
	}
	if err != nil {
		return err
	}
	defer d.Close()
	base := path.Base(name)
	if was == nil || now != nil && now.Kind != was.Kind && (now.Kind == Directory || was.Kind == Directory) {
		if err := d.Remove(base); err != nil {
			return err
		}
		now = nil
	}
	if was != nil {
		err = put(d, base, now, was, content)
	}
	if err != nil {
		return err
	}
	return d.Sync()
}

// makeParent creates the directories above a path, and opens the last one.
func makeParent(root *disk.Dir, name string) (*disk.Dir, error) {
	at, err := root.Below(".")
	if err != nil {
		return nil, err
	}
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		err := at.Mkdir(part)
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		var below *disk.Dir
		if err == nil {
			below, err = at.Sub(part) // a link or a file is an error
		}
		at.Close()
		if err != nil {
			return nil, err
		}
		at = below
	}
	return at, nil
}

// put creates an entry, or replaces one of the same kind, or a file by a link or a link by a
// file.
func put(d *disk.Dir, base string, now, was *Version, content []byte) error {
	mode := was.Perm()
	switch {
	case was.Kind == Directory:
		if now == nil {
			if err := d.Mkdir(base); err != nil {
				return err
			}
		}
		return d.ChangeMode(base, mode)
	case was.Kind == File && now != nil && now.Kind == File && now.SHA256 == was.SHA256:
		return d.ChangeMode(base, mode)
	}
	temporary := disk.TempName()
	var err error
	if was.Kind == Link {
		err = d.Symlink(was.Target, temporary)
	} else {
		err = write(d, temporary, mode, content, like(d, base))
	}
	if err == nil {
		err = d.Rename(temporary, base)
	}
	if err != nil {
		_ = d.Remove(temporary) // the other error is more informative
	}
	return err
}

// like returns the present file, whose owner a restored file gets; nil if there is none.
func like(d *disk.Dir, base string) fs.FileInfo {
	info, err := d.Lstat(base)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return info
}

// write writes a new file durably, with the owner and the set-id bits of the present file if there is one.
func write(d *disk.Dir, name string, mode fs.FileMode, content []byte, present fs.FileInfo) error {
	f, err := d.Create(name, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	switch {
	case err != nil:
	case present != nil:
		err = disk.KeepMode(f, present, mode)
	default:
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

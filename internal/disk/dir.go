package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Dir is an open directory, independent of later renames. Its methods take names of its entries:
// names have no separator, and links are never followed.
type Dir struct {
	root   *os.Root
	path   string  // for messages
	mounts *Mounts // the allowed mounts; nil for all
}

// OpenDir opens a directory by its canonical path. A link in the path is a
// [ChangedError].
func OpenDir(path string) (*Dir, error) { return openDir(path, nil) }

// adopt returns the Dir of root, if root is the directory that info describes.
func adopt(root *os.Root, path string, mounts *Mounts, info fs.FileInfo) (*Dir, error) {
	d := &Dir{root, path, mounts}
	is, err := root.Stat(".")
	switch {
	case err != nil:
	case !os.SameFile(info, is):
		err = changedOnTheWay(path)
	default:
		err = d.checkMount()
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return d, nil
}

func changedOnTheWay(path string) error {
	return &ChangedError{path, "it changed while it was opened"}
}

// check rejects names with separators.
func check(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsRune(name, '/') ||
		strings.ContainsRune(name, filepath.Separator) {
		return fmt.Errorf("%q is not the name of a file in a directory", name)
	}
	return nil
}

// Path is the path by which the directory was opened, for messages.
func (d *Dir) Path() string { return d.path }

// Close closes the directory.
func (d *Dir) Close() { _ = d.root.Close() } // nothing is written through it

// Lstat describes an entry, without following it.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	if err := check(name); err != nil {
		return nil, err
	}
	return d.root.Lstat(name)
}

// Open opens an entry, which must be a regular file, for reading. It never blocks.
func (d *Dir) Open(name string) (*os.File, fs.FileInfo, error) {
	before, err := d.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	return d.openEntry(name, before, os.O_RDONLY)
}

// openEntry opens the entry that Lstat described, with the access mode os.O_RDONLY or
// os.O_WRONLY. The open file must be regular and the described one.
func (d *Dir) openEntry(name string, before fs.FileInfo, access int) (*os.File, fs.FileInfo, error) {
	path := filepath.Join(d.path, name)
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, nil, linkError(path)
	}
	if err := checkRegular(path, before); err != nil {
		return nil, nil, err
	}
	f, err := d.root.OpenFile(name, access|NonBlocking, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !os.SameFile(before, info):
		err = changedOnTheWay(path)
	default:
		err = d.mounts.check(f, path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

func linkError(path string) error {
	return &ChangedError{path, fmt.Sprintf("%q is a symbolic link now", path)}
}

// Create creates a new file and opens it for writing.
func (d *Dir) Create(name string, mode fs.FileMode) (*os.File, error) {
	if err := check(name); err != nil {
		return nil, err
	}
	return d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

// Rename renames an entry in the directory, and replaces an existing one.
func (d *Dir) Rename(from, to string) error {
	if err := errors.Join(check(from), check(to)); err != nil {
		return err
	}
	return d.root.Rename(from, to)
}

// Remove removes a file, a link or an empty directory.
func (d *Dir) Remove(name string) error {
	if err := check(name); err != nil {
		return err
	}
	return d.root.Remove(name)
}

// RemoveEmptyDir removes an empty directory, given by its canonical path.
func RemoveEmptyDir(path string) error {
	d, err := OpenDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	name := filepath.Base(path)
	info, err := d.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("cannot remove %q: it is %s, not a directory", path, Kind(info.Mode()))
	}
	return d.Remove(name)
}

// Mkdir creates a directory with the mode that the umask leaves.
func (d *Dir) Mkdir(name string) error {
	if err := check(name); err != nil {
		return err
	}
	return d.root.Mkdir(name, 0o777)
}

// Sub opens a directory entry.
func (d *Dir) Sub(name string) (*Dir, error) {
	root, info, err := step(d.root, d.path, name)
	if err != nil {
		return nil, err
	}
	return adopt(root, filepath.Join(d.path, name), d.mounts, info)
}

// Below opens a directory below this one, by a path with slashes; "." is this directory. The
// caller closes it.
func (d *Dir) Below(path string) (*Dir, error) {
	root, err := d.root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	at := &Dir{root, d.path, d.mounts}
	for name := range strings.SplitSeq(path, "/") {
		if name == "." || name == "" {
			continue
		}
		below, err := at.Sub(name)
		at.Close()
		if err != nil {
			return nil, err
		}
		at = below
	}
	return at, nil
}

// step opens a directory in an open one, and returns its previous description, which the caller
// compares.
func step(in *os.Root, path, name string) (*os.Root, fs.FileInfo, error) {
	if err := check(name); err != nil {
		return nil, nil, err
	}
	info, err := in.Lstat(name)
	path = filepath.Join(path, name)
	switch {
	case err != nil:
		return nil, nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, nil, linkError(path)
	case !info.IsDir():
		return nil, nil, fmt.Errorf("%q is %s, not a directory", path, Kind(info.Mode()))
	}
	root, err := in.OpenRoot(name + "/.") // a FIFO has no "/.", so that the open does not block
	return root, info, err
}

// Read lists the directory, at most limit entries if limit is not 0. After more returns false,
// it reads at most some hundred. Callers use Lstat instead of the entries' Info, which goes by
// names.
func (d *Dir) Read(limit int, more func() bool) ([]fs.DirEntry, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []fs.DirEntry
	for more() && (limit == 0 || len(all) < limit) {
		batch, err := f.ReadDir(readBatch)
		all = append(all, batch...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readBatch is the number of entries read at a time.
const readBatch = 1024

// Sync makes all changes of the directory durable, if the file system can.
func (d *Dir) Sync() error {
	f, err := d.root.Open(".")
	if err != nil {
		return nil // readable or not, the change has happened
	}
	defer f.Close()
	return syncDir(f)
}

func (d *Dir) checkMount() error {
	if d.mounts == nil {
		return nil
	}
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return d.mounts.check(f, d.path)
}

// walkDir opens a directory name by name from the root of its volume, on kernels that cannot
// refuse links themselves.
func walkDir(path string, mounts *Mounts) (*Dir, error) {
	at, names := split(path)
	root, err := os.OpenRoot(at)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	for _, name := range names {
		if name == "" || err != nil {
			continue
		}
		parent := root
		var child *os.Root
		if child, info, err = step(parent, at, name); err == nil {
			var d *Dir
			if d, err = adopt(child, filepath.Join(at, name), nil, info); err == nil {
				root, at = d.root, d.path
			}
		}
		if parent != root || err != nil {
			parent.Close()
		}
	}
	if err != nil {
		return nil, err
	}
	return adopt(root, path, mounts, info)
}

// Beneath opens a directory below an open one, by a path with the separators of the system. It
// follows no link: it returns the directory that has each name of the path at that time.
func Beneath(root *os.Root, path string) (*os.Root, error) {
	at := &Dir{root: root, path: root.Name()}
	below, err := at.Below(filepath.ToSlash(path))
	if err != nil {
		return nil, err
	}
	return below.root, nil
}

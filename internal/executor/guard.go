package executor

import (
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/settle-agent/settle/internal/sandbox"
)

// Bounds of what a guard keeps; what is beyond is not protected.
const (
	maxGuarded      = 2000
	maxGuardedBytes = 1 << 20 // of a file
)

// movedSuffix is added to the name of what was changed: nobody obeys it then, and
// nothing is lost.
const movedSuffix = ".settle-changed"

// guard protects files where nothing is mounted over them: it compares them with what
// they were, and restores them. It works below the folders that the command may
// write to, and follows no link out of them: the command may have made one.
type guard struct {
	mu     sync.Mutex // guards what follows
	places []protectedPath
}

// guarded is one protected file or folder as it was.
type protectedPath struct {
	root, path string // the folder that may be written to, and the path in it
	files      map[string]protectedFile
}

type protectedFile struct {
	mode    fs.FileMode
	content []byte // of a regular file
	target  string // of a link
	large   bool   // too large to be kept
}

// newGuard looks at what a policy protects; nil if the kernel does it, or there is
// nothing.
func newGuard(p sandbox.Policy) *guard {
	if p.View || len(p.Protect) == 0 {
		return nil
	}
	g := &guard{}
	for _, path := range p.Protect {
		for _, root := range p.Write {
			rel, err := filepath.Rel(root, path)
			if err != nil || !filepath.IsLocal(rel) || rel == "." {
				continue
			}
			at := protectedPath{root: root, path: rel}
			if at.files, err = readProtected(root, rel); err == nil {
				g.places = append(g.places, at)
			}
			break
		}
	}
	return g
}

// look reads a path below a folder, with all that is below it, by its path there.
func readProtected(root, path string) (map[string]protectedFile, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	files := map[string]protectedFile{}
	err = fs.WalkDir(dir.FS(), filepath.ToSlash(path), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || len(files) >= maxGuarded {
			return nil //nolint:nilerr // what cannot be read is not kept
		}
		info, err := dir.Lstat(name)
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		f := protectedFile{mode: info.Mode()}
		switch {
		case info.Mode().IsRegular() && info.Size() > maxGuardedBytes:
			f.large = true
		case info.Mode().IsRegular():
			if f.content, f.large, err = readGuarded(dir, name); err != nil {
				return nil //nolint:nilerr // it is gone
			}
		case info.Mode()&fs.ModeSymlink != 0:
			f.target, _ = dir.Readlink(name)
		}
		files[name] = f
		return nil
	})
	return files, err
}

// readGuarded reads a regular file of a bounded size. A job may have just put a FIFO in
// its place, which would wait, or may write to it.
func readGuarded(dir *os.Root, name string) (content []byte, large bool, err error) {
	file, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, false, cmp.Or(err, fs.ErrNotExist)
	}
	content, err = io.ReadAll(io.LimitReader(file, maxGuardedBytes+1))
	if len(content) > maxGuardedBytes {
		return nil, true, err
	}
	return content, false, err
}

// restore puts back what was changed, and names it. What was there is moved aside.
func (g *guard) restore() (changed []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, at := range g.places {
		now, err := readProtected(at.root, at.path)
		if err != nil {
			now = map[string]protectedFile{}
		}
		dir, err := os.OpenRoot(at.root)
		if err != nil {
			continue
		}
		for _, name := range paths(at.files, now) {
			was, had := at.files[name]
			is, has := now[name]
			if had && has && was.same(is) || !had && strings.HasSuffix(name, movedSuffix) {
				continue
			}
			if !had && !hadParent(at.files, name) {
				continue // in a folder that is moved aside as a whole
			}
			changed = append(changed, filepath.Join(at.root, name))
			restoreFile(dir, name, was, had)
		}
		_ = dir.Close()
	}
	return changed
}

func hadParent(files map[string]protectedFile, name string) bool {
	parent, known := files[filepath.ToSlash(filepath.Dir(name))]
	return known && parent.mode.IsDir()
}

// put makes a path what it was.
func restoreFile(dir *os.Root, name string, was protectedFile, had bool) {
	makeParents(dir, filepath.Dir(name))
	if _, err := dir.Lstat(name); err == nil && !(had && was.mode.IsDir() && isDir(dir, name)) {
		_ = dir.RemoveAll(name + movedSuffix)
		if dir.Rename(name, name+movedSuffix) != nil {
			_ = dir.RemoveAll(name)
		}
	}
	switch {
	case !had, was.large:
	case was.mode.IsDir():
		_ = dir.MkdirAll(name, 0o700)
		_ = dir.Chmod(name, was.mode.Perm())
	case was.mode&fs.ModeSymlink != 0:
		_ = dir.Symlink(was.target, name)
	case was.mode.IsRegular():
		_ = dir.MkdirAll(filepath.Dir(name), 0o755)
		_ = dir.WriteFile(name, was.content, 0o600)
		_ = dir.Chmod(name, was.mode.Perm())
	}
}

// makeWay has every folder above a path be one: a link there would lead elsewhere.
func makeParents(dir *os.Root, path string) {
	if path == "." {
		return
	}
	makeParents(dir, filepath.Dir(path))
	if info, err := dir.Lstat(path); err == nil && !info.IsDir() {
		_ = dir.RemoveAll(path + movedSuffix)
		_ = dir.Rename(path, path+movedSuffix)
	}
}

func isDir(dir *os.Root, name string) bool {
	info, err := dir.Lstat(name)
	return err == nil && info.IsDir()
}

func (f protectedFile) same(other protectedFile) bool {
	return f.mode == other.mode && f.target == other.target && f.large == other.large && bytes.Equal(f.content, other.content)
}

// paths are the names of both, a folder before what is in it.
func paths(a, b map[string]protectedFile) (list []string) {
	for name := range a {
		list = append(list, name)
	}
	for name := range b {
		if _, known := a[name]; !known {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

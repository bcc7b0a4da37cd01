package executor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/sandbox"
)

// Bounds of the protected files. Files above maxGuarded are not protected. A changed file whose
// content is not kept is only moved aside.
const (
	maxGuarded      = 2000
	maxGuardedBytes = 16 << 20 // of a file that is compared by its content
	maxKeptBytes    = 32 << 20 // of the contents that a guard keeps
)

// movedSuffix is appended to the name of a changed file: programs ignore the file, and its
// content is kept.
const movedSuffix = ".settle-changed"

// guard protects files by comparison where the kernel cannot: it restores changed files. It
// works below the writable folders and follows no link out of them, because the command can have
// created the link.
type guard struct {
	mu     sync.Mutex // guards the fields below
	places []protectedPath
	// back and left are the results that restore has not returned yet.
	back, left []string
}

// protectedPath is the original state of a protected file or folder.
type protectedPath struct {
	root, path string // the writable folder, and the path in it
	files      map[string]protectedFile
	// mounted is the file that is mounted read-only; nil if nothing is. The mount is gone if
	// another file has its name: a program outside of the sandbox has saved it by a rename.
	mounted *os.File
}

type protectedFile struct {
	id      string // from [disk.Identify]; empty for none, or if the original is lost
	mode    fs.FileMode
	content []byte // of a regular file
	isKept  bool   // content is the whole content
	target  string // of a link
}

// newGuard reads the paths that a policy protects; it returns nil if there are none. If files are
// mounted read-only, it compares only the files that have lost their mount.
func newGuard(p sandbox.Policy) *guard {
	if len(p.Protect) == 0 {
		return nil
	}
	g, room := &guard{}, maxKeptBytes
	for _, path := range p.Protect {
		if p.View && filepath.Base(path) == ".git" { // the guard of repositories judges it
			continue
		}
		for _, root := range p.Write {
			rel, err := filepath.Rel(root, path)
			if err != nil || !filepath.IsLocal(rel) || rel == "." {
				continue
			}
			at := protectedPath{root: root, path: rel}
			if p.View {
				at.mounted = openMounted(root, rel)
			}
			if at.files, err = readProtected(root, rel, &room); err == nil && (len(at.files) > 0 || !p.View) {
				g.places = append(g.places, at)
			}
			break
		}
	}
	if len(g.places) == 0 {
		return nil
	}
	return g
}

// Protect protects the files of a policy for a caller that starts the command itself. restore puts
// changed files back, and returns their paths and the paths that it could not restore. end does the
// same for the last time.
func Protect(p sandbox.Policy) (restore, end func() (back, left []string)) {
	g := newGuard(p)
	if g == nil {
		none := func() (back, left []string) { return nil, nil }
		return none, none
	}
	return g.restore, func() (back, left []string) {
		g.end()
		return g.restore()
	}
}

// readProtected reads a path below a folder recursively; the keys are paths in the folder. It keeps the
// contents that have room.
func readProtected(root, path string, room *int) (map[string]protectedFile, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	files := map[string]protectedFile{}
	if info, err := dir.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		files[filepath.ToSlash(path)] = readGuarded(dir, path, info, room) // the policy protects the target by itself
		return files, nil
	}
	err = fs.WalkDir(dir.FS(), filepath.ToSlash(path), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || len(files) >= maxGuarded {
			return nil // unreadable files are not protected
		}
		info, err := dir.Lstat(name)
		if err != nil {
			return nil // it was removed meanwhile
		}
		if f := readGuarded(dir, name, info, room); f.id != "" { // else it was removed meanwhile
			files[name] = f
		}
		return nil
	})
	return files, err
}

// readGuarded reads an entry of a folder. It does not block: a job can replace a file with a FIFO, or
// write to it meanwhile.
func readGuarded(dir *os.Root, name string, info fs.FileInfo, room *int) protectedFile {
	f := protectedFile{mode: info.Mode()}
	var content bytes.Buffer
	into := io.Writer(nil)
	if f.mode.IsRegular() && info.Size() <= int64(min(*room, maxGuardedBytes)) {
		into, f.isKept = &content, true
	}
	f.id, _ = disk.Identify(dir, name, maxGuardedBytes, into)
	if f.isKept = f.isKept && int64(content.Len()) == info.Size(); f.isKept {
		f.content = content.Bytes()
		*room -= len(f.content)
	}
	f.target, _ = dir.Readlink(name) // empty for other kinds
	return f
}

// openMounted opens a file or folder, so that no other one gets its identity.
func openMounted(root, path string) *os.File {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer dir.Close()
	file, _ := dir.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // without it, the content is compared
	return file
}

// holds reports whether the mount is still there.
func (p protectedPath) holds(dir *os.Root) bool {
	if p.mounted == nil {
		return false
	}
	was, err := p.mounted.Stat()
	if err != nil {
		return false
	}
	is, err := dir.Lstat(p.path)
	return err == nil && os.SameFile(was, is)
}

// restore puts changed protected files back and returns their paths, once: back has the restored
// paths, and left has the paths that could not be restored, with the reason. The replaced content
// is moved aside, and never deleted: it can be a save of the user.
func (g *guard) restore() (back, left []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.putBack()
	back, left = g.back, g.left
	g.back, g.left = nil, nil
	return back, left
}

// end restores for the last time: nothing of the command runs any more.
func (g *guard) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.putBack()
	for _, at := range g.places {
		if at.mounted != nil {
			_ = at.mounted.Close() // it was only identified
		}
	}
	g.places = nil
}

// putBack restores changed files. The caller holds the lock.
func (g *guard) putBack() {
	for _, at := range g.places {
		dir, err := os.OpenRoot(at.root)
		if err != nil {
			continue
		}
		if at.holds(dir) {
			_ = dir.Close()
			continue
		}
		now, err := readProtected(at.root, at.path, new(int))
		if err != nil {
			now = map[string]protectedFile{}
		}
		for _, name := range paths(at.files, now) {
			was, had := at.files[name]
			is := now[name]
			if had && was.id == is.id || !had && strings.HasSuffix(name, movedSuffix) {
				continue
			}
			if !had && !hadParent(at.files, name) {
				continue // in a folder that is moved aside as a whole
			}
			path := filepath.Join(at.root, name)
			err := restoreFile(dir, name, was, had)
			if errors.Is(err, errNotKept) {
				at.files[name] = protectedFile{}
			}
			if err == nil {
				g.back = append(g.back, path)
			} else if one := fmt.Sprintf("%s (%v)", path, err); !slices.Contains(g.left, one) {
				g.left = append(g.left, one)
			}
		}
		_ = dir.Close()
	}
}

func hadParent(files map[string]protectedFile, name string) bool {
	parent, known := files[filepath.ToSlash(filepath.Dir(name))]
	return known && parent.mode.IsDir()
}

// restoreFile restores one path. If the present entry cannot be moved aside, it stays.
func restoreFile(dir *os.Root, name string, was protectedFile, had bool) error {
	parent := filepath.Dir(name)
	if err := makeParents(dir, parent); err != nil {
		return err
	}
	if info, err := dir.Lstat(parent); err == nil && info.Mode().Perm()&0o300 != 0o300 {
		defer func() { _ = dir.Chmod(parent, info.Mode().Perm()) }() // a command may have taken the rights away
		_ = dir.Chmod(parent, info.Mode().Perm()|0o700)
	}
	if _, err := dir.Lstat(name); err == nil && !(had && was.mode.IsDir() && isDir(dir, name)) {
		if err := moveAside(dir, name); err != nil {
			return err
		}
	}
	switch {
	case !had:
	case was.id == "" || was.mode.IsRegular() && !was.isKept:
		return errNotKept
	case was.mode.IsDir():
		return errors.Join(dir.MkdirAll(name, 0o700), dir.Chmod(name, was.mode.Perm()))
	case was.mode&fs.ModeSymlink != 0:
		return dir.Symlink(was.target, name)
	case was.mode.IsRegular():
		return errors.Join(dir.WriteFile(name, was.content, 0o600), dir.Chmod(name, was.mode.Perm()))
	}
	return nil
}

// errNotKept reports a file whose original content is lost.
var errNotKept = errors.New(
	"the original was too large to keep, or unreadable; the changed one is now NAME" + movedSuffix,
)

// makeParents makes sure that the parents of a path are folders: a link there would lead
// elsewhere.
func makeParents(dir *os.Root, path string) error {
	if path == "." {
		return nil
	}
	if err := makeParents(dir, filepath.Dir(path)); err != nil {
		return err
	}
	if info, err := dir.Lstat(path); err == nil && !info.IsDir() {
		if err := moveAside(dir, path); err != nil {
			return err
		}
	}
	return dir.MkdirAll(path, 0o755)
}

// maxMoves bounds the names to try: a command can take a free name before the rename.
const maxMoves = 10

// moveAside renames a changed file to a free name. It replaces nothing: an earlier copy can be
// the user's.
func moveAside(dir *os.Root, name string) (err error) {
	for range maxMoves {
		free := disk.Shorten(name, movedSuffix) + movedSuffix
		for n := 2; exists(dir, free); n++ {
			suffix := fmt.Sprintf(".%d%s", n, movedSuffix)
			free = disk.Shorten(name, suffix) + suffix
		}
		if err = dir.Rename(name, free); err == nil {
			return nil
		}
	}
	return fmt.Errorf("cannot move the changed one aside: %w", err)
}

func exists(dir *os.Root, name string) bool {
	_, err := dir.Lstat(name)
	return err == nil
}

func isDir(dir *os.Root, name string) bool {
	info, err := dir.Lstat(name)
	return err == nil && info.IsDir()
}

// paths returns the names of both, a folder before its content.
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

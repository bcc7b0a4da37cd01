package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/settle-agent/settle/event"
)

// WorkDir is the working directory of a session, held open: a name below it is looked up in the
// directory of the session's beginning, even if another directory has its name now. A nil WorkDir
// holds nothing.
type WorkDir struct {
	dir  string // as the session names it
	held *sharedDir
	drop func() // closes held after its last user
}

// workDirs are the held directories by path: sessions in the same directory share one
// descriptor, so that a host with thousands of sessions does not run out of them.
var workDirs = struct {
	sync.Mutex
	held map[string]*sharedDir
}{held: map[string]*sharedDir{}}

// sharedDir counts the users of an open directory, whose path is canonical. workDirs' lock guards
// users.
type sharedDir struct {
	*Dir
	info  fs.FileInfo
	users int
}

// WorkDirError reports that the name of a session's working directory leads elsewhere now.
type WorkDirError struct{ Dir string }

func (e *WorkDirError) Error() string {
	return fmt.Sprintf("the working directory %q is not the one in which the session began: "+
		"it was renamed, removed or exchanged. Nothing was read, written or started. "+
		"Move the directory back, or start a session in the directory that is meant", e.Dir)
}

// HoldWorkDir opens a session's working directory. The caller closes it.
func HoldWorkDir(dir string) (*WorkDir, error) {
	real, err := Resolve(dir)
	if err != nil {
		return nil, err
	}
	opened, err := OpenDir(real)
	if err != nil {
		return nil, err
	}
	info, err := opened.root.Stat(".")
	if err != nil {
		opened.Close()
		return nil, err
	}
	held := shareDir(opened, info)
	return &WorkDir{dir, held, sync.OnceFunc(held.leave)}, nil
}

// shareDir returns the held directory of the same path, and closes opened, if both are the same one.
// Otherwise opened is held from now on. An open directory keeps its inode, so no other directory
// can be taken for it.
func shareDir(opened *Dir, info fs.FileInfo) *sharedDir {
	workDirs.Lock()
	defer workDirs.Unlock()
	held := workDirs.held[opened.path]
	if held != nil && os.SameFile(held.info, info) {
		opened.Close()
	} else {
		held = &sharedDir{Dir: opened, info: info}
		workDirs.held[opened.path] = held
	}
	held.users++
	return held
}

func (d *sharedDir) leave() {
	workDirs.Lock()
	defer workDirs.Unlock()
	if d.users--; d.users > 0 {
		return
	}
	d.Close()
	if workDirs.held[d.path] == d {
		delete(workDirs.held, d.path)
	}
}

// Close ends the use of the directory.
func (w *WorkDir) Close() {
	if w != nil {
		w.drop()
	}
}

// Open opens the held directory, even if another directory has its name now. The caller closes it.
func (w *WorkDir) Open() (*Dir, error) {
	if w == nil {
		return nil, errors.New("the working directory could not be opened")
	}
	return w.held.Below(".")
}

// Check returns a [WorkDirError] if a session that works in dir, which is the held directory,
// would work in another one.
func (w *WorkDir) Check(dir string) error {
	if w == nil || dir != w.dir {
		return nil
	}
	if is, err := os.Stat(dir); err != nil || !os.SameFile(w.held.info, is) {
		return &WorkDirError{dir}
	}
	return nil
}

// Locate is [Locate] for a session that works in dir. It checks the directory first; the place
// is opened beneath the held one.
func (w *WorkDir) Locate(dir, path string, judged []event.ResolvedPath) (Place, error) {
	if err := w.Check(dir); err != nil {
		return Place{}, err
	}
	if w != nil && dir != w.dir {
		w = nil
	}
	return locate(w, dir, path, judged)
}

// resolve returns the canonical path of a name in a session, and the canonical path of the
// session's directory; "" if there is none. Within a held directory, it looks up no name by its
// path: an exchange of the directory for a moment changes no result.
func (w *WorkDir) resolve(dir, named string) (real, top string, err error) {
	if w == nil {
		top, _ = Resolve(dir)
		real, err = Resolve(named)
		return real, top, err
	}
	if rel, err := filepath.Rel(dir, named); err == nil && filepath.IsLocal(rel) {
		named = filepath.Join(w.held.path, rel)
	}
	real, err = (&Walk{held: w}).Resolve(named)
	return real, w.held.path, err
}

// open opens a canonical path in the directory. It follows no link.
func (w *WorkDir) open(path string, mounts *Mounts) (*Dir, error) {
	rel, err := filepath.Rel(w.held.path, path)
	if err != nil || !filepath.IsLocal(rel) { // the folder around the directory
		return openDir(path, mounts)
	}
	d, err := (&Dir{w.held.root, w.held.path, mounts}).Below(filepath.ToSlash(rel))
	if named := (*fs.PathError)(nil); errors.As(err, &named) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: named.Err}
	}
	return d, err
}

// CheckWorkDirName refuses a working directory whose name a log cannot hold: text in a log is
// UTF-8, in which other bytes become U+FFFD, and another directory can have the name that results.
func CheckWorkDirName(dir string) error {
	names := []string{dir}
	if real, err := Resolve(dir); err == nil {
		names = append(names, real)
	}
	for _, name := range names {
		if !utf8.ValidString(name) || strings.ContainsRune(name, utf8.RuneError) {
			return fmt.Errorf("cannot work in %q: the name of the directory is not UTF-8, and a log cannot hold it; "+
				"rename the directory", name)
		}
	}
	return nil
}

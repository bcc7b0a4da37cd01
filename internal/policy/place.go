package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
)

// place is where a path leads.
type place struct {
	named  string // absolute, as it was named
	shown  string // with slashes; from the working directory if it is named in it
	real   string // with links resolved; what it names need not exist
	rel    string // with slashes; from the working directory if it is inside
	inside bool   // of the working directory
	shared bool   // a file with several names that not everybody may read
}

// path is for programs: short where the place is inside.
func (p place) path() string {
	if p.inside {
		return p.rel
	}
	return filepath.ToSlash(p.named)
}

// String is for people: short where the place is inside, and as named and as resolved
// where those differ.
func (p place) String() string {
	target := p.rel // virtual names are not resolved
	if !p.inside && !virtual(p.named) {
		target = filepath.ToSlash(p.real)
	}
	if p.named == p.real || p.shown == target {
		return p.path()
	}
	return p.shown + " -> " + target
}

// workspace is the working directory that paths are inside of, or not.
type workspace struct {
	dir, real string
	// remote says that it is on another machine: nothing there can be resolved from
	// here. A path is judged as one without links, and only that is opened there.
	remote bool
	// judged, if set, are the places that were judged before: nothing is resolved again.
	judged []event.ResolvedPath
}

func newWorkspace(dir string, remote bool) (workspace, error) {
	if !filepath.IsAbs(dir) {
		return workspace{}, fmt.Errorf("the working directory %q is not absolute", dir)
	}
	w := workspace{dir: filepath.Clean(dir), remote: remote}
	real, err := w.resolve(dir)
	w.real = real
	return w, err
}

// resolve returns an absolute path without links.
func (w workspace) resolve(path string) (string, error) {
	if w.remote {
		return filepath.Clean(path), nil
	}
	return disk.Resolve(path)
}

// decide returns the place that the decision about a clean path is made about. With an
// error, the place is one that nothing leads to.
func (w workspace) decide(named string) (event.ResolvedPath, error) {
	if w.judged != nil {
		n := slices.IndexFunc(w.judged, func(p event.ResolvedPath) bool { return p.Path == named })
		if n < 0 || w.judged[n].Real == "" {
			return event.ResolvedPath{Path: named}, fmt.Errorf("nothing was decided about %q", named)
		}
		return w.judged[n], nil
	}
	if w.remote {
		return event.ResolvedPath{Path: named, Real: named}, nil
	}
	return disk.Decide(named)
}

// locate returns where an absolute path leads. To the kernel, ".." is the
// parent of where a link leads; tools clean their paths first.
func (w workspace) locate(path string) (place, error) {
	real, err := w.resolve(path)
	return w.place(event.ResolvedPath{Path: filepath.Clean(path), Real: real}), err
}

// place is a decided path as the rules see it.
func (w workspace) place(at event.ResolvedPath) place {
	p := place{named: at.Path, shown: disk.Display(w.dir, at.Path), real: at.Real, rel: filepath.ToSlash(at.Real), shared: at.Shared}
	if virtual(at.Path) {
		p.rel = filepath.ToSlash(at.Path)
	} else if rel, err := filepath.Rel(w.real, at.Real); err == nil && filepath.IsLocal(rel) {
		p.inside, p.rel = true, filepath.ToSlash(rel)
	}
	return p
}

func absolute(at, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return at + string(filepath.Separator) + path
}

// virtual reports whether a path is of a file system in which names mean
// something else for each process.
func virtual(path string) bool {
	path = filepath.ToSlash(path)
	return strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/dev/")
}

// within reports whether path is root or below it; both are clean.
func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

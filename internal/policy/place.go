package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
)

// place is the target of a path.
type place struct {
	named  string   // absolute, as named
	shown  string   // with slashes; relative to the working directory if named inside it
	real   string   // with links resolved; its target need not exist
	rel    string   // with slashes; relative to the working directory if inside it
	inside bool     // inside the working directory
	shared bool     // a file with several names that not all users can read
	also   []string // the paths that the same call writes, with links resolved
	// protected is [Config.Protected], and hidden [Config.Hidden]; both can be nil.
	protected func() []string
	hidden    func(path string) bool
}

// path is for programs: short if the place is inside.
func (p place) path() string {
	if p.inside {
		return p.rel
	}
	return filepath.ToSlash(p.named)
}

// String is for people: short if the place is inside, and with both the named and the
// resolved path if they differ.
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

// workspace is the working directory, and resolves paths.
type workspace struct {
	dir, real string
	// remote reports that the directory is on another machine, where this machine cannot
	// resolve links. A path is judged as a path without links, and the executor opens only
	// such a path.
	remote bool
	// judged, if set, are the places of an earlier decision, which are not resolved again.
	judged []event.ResolvedPath
	// protected is [Config.Protected], called once at most, and hidden [Config.Hidden]; both
	// can be nil.
	protected func() []string
	hidden    func(path string) bool
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

// decide returns the place of a clean path for the decision. With an error, the place is
// one without any path to it.
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

// locate returns the target of an absolute path. To the kernel, ".." is the parent of a
// link's target; tools clean their paths first.
func (w workspace) locate(path string) (place, error) {
	real, err := w.resolve(path)
	return w.place(event.ResolvedPath{Path: filepath.Clean(path), Real: real}), err
}

// place converts a resolved path for rules.
func (w workspace) place(at event.ResolvedPath) place {
	p := place{
		named: at.Path, shown: disk.Display(w.dir, at.Path), real: at.Real, rel: filepath.ToSlash(at.Real),
		shared: at.Shared, protected: w.protected, hidden: w.hidden,
	}
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

// virtual reports whether a path is in a file system whose names differ for each process.
func virtual(path string) bool {
	path = filepath.ToSlash(path)
	return strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/dev/")
}

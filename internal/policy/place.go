package policy

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// place is where a path leads.
type place struct {
	named  string // absolute, as it was named
	real   string // with links resolved; what it names need not exist
	rel    string // with slashes; from the working directory if it is inside
	inside bool   // of the working directory
}

// String is for people: short where the place is inside.
func (p place) String() string {
	if p.inside {
		return p.rel
	}
	return filepath.ToSlash(p.named)
}

// workspace is the working directory that paths are inside of, or not.
type workspace struct{ dir, real string }

func newWorkspace(dir string) (workspace, error) {
	if !filepath.IsAbs(dir) {
		return workspace{}, fmt.Errorf("the working directory %q is not absolute", dir)
	}
	real, err := disk.Resolve(dir)
	return workspace{filepath.Clean(dir), real}, err
}

// locate returns where an absolute path leads. To the kernel, ".." is the
// parent of where a link leads; tools clean their paths first.
func (w workspace) locate(path string) (place, error) {
	named := filepath.Clean(path)
	real, err := disk.Resolve(path)
	p := place{named: named, real: real, rel: filepath.ToSlash(real)}
	if virtual(named) {
		p.rel = filepath.ToSlash(named)
	} else if rel, relErr := filepath.Rel(w.real, real); relErr == nil && filepath.IsLocal(rel) {
		p.inside, p.rel = true, filepath.ToSlash(rel)
	}
	return p, err
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

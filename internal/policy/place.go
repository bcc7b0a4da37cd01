package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	real, err := resolve(dir)
	return workspace{filepath.Clean(dir), real}, err
}

// locate returns where a path leads that a tool uses in the directory at:
// ".." takes a name away.
func (w workspace) locate(at, path string) (place, error) {
	return w.place(filepath.Clean(absolute(at, path)))
}

// locateAll returns where a path may lead that a command uses. For the kernel
// ".." is the parent of where a link leads, for cd it is not.
func (w workspace) locateAll(at, path string) ([]place, error) {
	clean, err := w.locate(at, path)
	if err != nil {
		return nil, err
	}
	walked, err := w.place(absolute(at, path))
	if err != nil || walked.real == clean.real {
		return []place{clean}, err
	}
	walked.named = walked.real
	return []place{clean, walked}, nil
}

func absolute(at, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return at + string(filepath.Separator) + path
}

func (w workspace) place(named string) (place, error) {
	real, err := resolve(named)
	p := place{named: named, real: real, rel: filepath.ToSlash(real)}
	if virtual(filepath.Clean(named)) {
		p.rel = filepath.ToSlash(named)
		return p, err
	}
	if rel, relErr := filepath.Rel(w.real, real); relErr == nil && within(w.real, real) {
		p.inside, p.rel = true, filepath.ToSlash(rel)
	}
	return p, err
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

const maxLinks = 40 // as Linux has it

// resolve follows all links of an absolute path, name by name as the kernel
// does. From the first name that does not exist on, it is as it is written.
func resolve(path string) (string, error) {
	at, rest := split(path)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		next := filepath.Join(at, name) // "." and "" change nothing, ".." goes up
		if name != ".." {
			if target, err := os.Readlink(next); err == nil {
				if links++; links > maxLinks {
					return "", fmt.Errorf("%q: too many symbolic links", path)
				}
				root, names := split(target)
				if next = at; filepath.IsAbs(target) {
					next = root
				}
				rest = append(names, rest...)
			}
		}
		at = next
	}
	return at, nil
}

// split returns the root of an absolute path, and the names in any path.
func split(path string) (root string, names []string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), strings.Split(filepath.ToSlash(path[len(volume):]), "/")
}

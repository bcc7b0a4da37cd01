package permit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// place is where a path leads.
type place struct {
	named  string // absolute and clean, as it was named
	real   string // with links resolved; what it names need not exist
	rel    string // from the working directory, with slashes; real's where inside
	inside bool   // of the working directory
}

// String is for people: short where the place is inside.
func (p place) String() string {
	if p.inside {
		return p.rel
	}
	return filepath.ToSlash(p.named)
}

// ground is the working directory that paths are inside of, or not.
type ground struct{ dir, real string }

func newGround(dir string) (ground, error) {
	if !filepath.IsAbs(dir) {
		return ground{}, fmt.Errorf("the working directory %q is not absolute", dir)
	}
	real, err := resolve(dir)
	if err != nil {
		return ground{}, err
	}
	return ground{filepath.Clean(dir), real}, nil
}

// locate returns where a path leads that is used in the directory at. A shell
// follows a link before it goes up from it, the tools go up first: a path
// counts as inside only if it is so for both.
func (g ground) locate(at, path string) (place, error) {
	if !filepath.IsAbs(path) {
		path = at + string(filepath.Separator) + path
	}
	named := filepath.Clean(path)
	real, err := resolve(named)
	if err != nil {
		return place{}, err
	}
	p := place{named: named, real: real}
	walked, err := resolve(path)
	if err != nil {
		return place{}, err
	}
	if walked != real && !within(g.real, walked) {
		p.named, p.real = walked, walked
	}
	if virtual(p.named) {
		p.rel = filepath.ToSlash(p.named)
		return p, nil
	}
	p.inside = within(g.real, p.real)
	p.rel = filepath.ToSlash(p.real)
	if rel, err := filepath.Rel(g.real, p.real); err == nil && p.inside {
		p.rel = filepath.ToSlash(rel)
	}
	return p, nil
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
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

const maxLinks = 40 // as Linux has it

// resolve follows all links of an absolute path, name by name as the kernel
// does. From the first name that does not exist on, it is as it is written.
func resolve(path string) (string, error) {
	at, rest := split(path)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		target, err := os.Readlink(next)
		if err != nil { // no link, or nothing at all
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%q: too many symbolic links", path)
		}
		root, names := split(target)
		if filepath.IsAbs(target) {
			at = root
		}
		rest = append(names, rest...)
	}
	return at, nil
}

// split returns the root of an absolute path, and the names in any path.
func split(path string) (root string, names []string) {
	volume := filepath.VolumeName(path)
	rest := filepath.ToSlash(path[len(volume):])
	return volume + string(filepath.Separator), strings.Split(rest, "/")
}

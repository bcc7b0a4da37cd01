package disk

import (
	"fmt"
	"os"
	"path/filepath"
)

// maxLinks bounds the links of one path, as on Linux.
const maxLinks = 40

// Walk resolves several paths and reads each name once. The zero value is ready for use, by one
// goroutine at a time.
type Walk struct {
	// Visit, if set, receives each directory, without links, in which a name is looked up. A
	// process that can write to one of them can redirect the path.
	Visit func(dir string)

	links map[string]string // targets, by path; "" for no link
	held  *WorkDir          // its path has no links, even if another file has its name now
}

// Resolve is [Resolve] with the walk's cache.
func (w *Walk) Resolve(path string) (string, error) {
	at, rest := split(path)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		next := filepath.Join(at, name) // "." and "" change nothing, ".." goes up
		if next != at && name != ".." {
			if target := w.link(at, next); target != "" {
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

// link returns the target of a link; "" if the path is no link.
func (w *Walk) link(dir, path string) string {
	if w.Visit != nil {
		w.Visit(dir)
	}
	target, known := w.links[path]
	if !known {
		target, _ = w.readlink(path) // an unreadable path is no link
		if w.links == nil {
			w.links = map[string]string{}
		}
		w.links[path] = target
	}
	return target
}

// readlink reads a link by its name, and one in the held directory beneath that.
func (w *Walk) readlink(path string) (string, error) {
	if w.held == nil || !Within(w.held.held.path, path) && !Within(path, w.held.held.path) {
		return os.Readlink(path)
	}
	rel, err := filepath.Rel(w.held.held.path, path)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return "", err
	}
	return w.held.held.root.Readlink(rel)
}

package disk

import (
	"fmt"
	"os"
	"path/filepath"
)

// maxLinks is how many links one path may lead through, as on Linux.
const maxLinks = 40

// Walk resolves several paths and looks at each name once. The zero value is ready to
// use. It is not safe for concurrent use.
type Walk struct {
	// Visit, if set, is called with each directory, without links, in which a name is
	// looked up. Who can write to one of them decides where the path leads.
	Visit func(dir string)

	links map[string]string // targets, by path; "" for no link
}

// Resolve is the function [Resolve].
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

// link returns the target of the link at a path in a directory; "" if it is none.
func (w *Walk) link(dir, path string) string {
	if w.Visit != nil {
		w.Visit(dir)
	}
	target, known := w.links[path]
	if !known {
		target, _ = os.Readlink(path) // what cannot be read is no link
		if w.links == nil {
			w.links = map[string]string{}
		}
		w.links[path] = target
	}
	return target
}

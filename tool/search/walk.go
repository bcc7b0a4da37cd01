package search

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// entry is a file or directory that a walk comes to.
type entry struct {
	fs.DirEntry
	path string // absolute
	rel  string // from the root of the walk, with slashes
}

// depth is 1 for what lies in the root itself.
func (e entry) depth() int { return strings.Count(e.rel, "/") + 1 }

// errSkip, returned for a directory, leaves out what is in it.
var errSkip = errors.New("skip this directory")

// walk visits what is below root, in the order of names, without what is
// ignored. Links are visited, not followed. Directories that cannot be read
// are passed over. It ends with the context's cause when ctx does, or with
// the error that visit returns.
func walk(ctx context.Context, root string, visit func(entry) error) error {
	ig, top := ignoresAbove(root)
	w := walker{ctx: ctx, visit: visit, top: top}
	return w.dir(root, "", ig)
}

type walker struct {
	ctx   context.Context
	visit func(entry) error
	top   string // path of the root from the top of its repository
}

// dir visits the entries of a directory, whose path from the root is rel.
func (w *walker) dir(path, rel string, ig *ignores) error {
	entries, err := readDir(w.ctx, path, 0)
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if err != nil {
		return nil //nolint:nilerr // Not ours to read: nothing to find in it.
	}
	ig = ig.enter(path, w.top+rel, func(name string) bool {
		_, found := slices.BinarySearchFunc(entries, name, func(d fs.DirEntry, name string) int { return strings.Compare(d.Name(), name) })
		return found
	})
	for _, d := range entries {
		name := d.Name()
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		if name == ".git" || ig.ignored(w.top+rel+name, d.IsDir()) {
			continue
		}
		e := entry{DirEntry: d, path: filepath.Join(path, name), rel: rel + name}
		if err := w.visit(e); err != nil {
			if d.IsDir() && errors.Is(err, errSkip) {
				continue
			}
			return err
		}
		if !d.IsDir() {
			continue
		}
		if err := w.dir(e.path, e.rel+"/", ig); err != nil {
			return err
		}
	}
	return nil
}

// readBatch is how many entries are read between looks at the context.
const readBatch = 1024

// readDir reads a directory, sorted by name; at most limit entries if that is
// not 0.
func readDir(ctx context.Context, path string, limit int) ([]fs.DirEntry, error) {
	d, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var all []fs.DirEntry
	for ctx.Err() == nil && (limit == 0 || len(all) < limit) {
		batch, err := d.ReadDir(readBatch)
		all = append(all, batch...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

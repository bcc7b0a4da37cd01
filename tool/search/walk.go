package search

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/disk/ignore"
)

// entry is a file or directory of a walk. Its Info must not be used, because it reads by
// name; see in.Lstat.
type entry struct {
	fs.DirEntry

	in   *disk.Dir // open during the visit
	path string    // absolute, as shown
	rel  string    // from the root of the walk, with slashes
}

// depth is 1 for an entry of the root itself.
func (e entry) depth() int { return strings.Count(e.rel, "/") + 1 }

// errSkip, returned for a directory, skips its entries.
var errSkip = errors.New("skip this directory")

// maxDepth bounds the depth of a walk, which holds all directories above open.
const maxDepth = 200

// walk visits the entries below a place that are not ignored, in the order of names. It
// visits links without following them, and skips unreadable directories. It ends with the
// cause of ctx, or with the error that visit returns.
func walk(ctx context.Context, root disk.Place, visit func(entry) error) error {
	d, err := root.Tree()
	if err != nil {
		return err
	}
	defer d.Close()
	ig, top := ignore.Above(root.Real)
	w := walker{ctx: ctx, visit: visit, top: top}
	return w.dir(d, root.Named, "", ig)
}

type walker struct {
	ctx   context.Context
	visit func(entry) error
	top   string // path of the root from the top of its repository
}

// dir visits the entries of a directory, whose path from the root is rel.
func (w *walker) dir(d *disk.Dir, path, rel string, ig *ignore.Rules) error {
	entries, err := readDir(w.ctx, d, 0)
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if err != nil {
		return nil // Not ours to read: nothing to find in it.
	}
	ig = ig.Enter(d, w.top+rel, func(name string) bool {
		_, found := slices.BinarySearchFunc(entries, name,
			func(d fs.DirEntry, name string) int { return strings.Compare(d.Name(), name) })
		return found
	})
	for _, entryOf := range entries {
		name := entryOf.Name()
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		if name == ".git" || ig.Ignored(w.top+rel+name, entryOf.IsDir()) {
			continue
		}
		e := entry{DirEntry: entryOf, in: d, path: filepath.Join(path, name), rel: rel + name}
		if err := w.visit(e); err != nil {
			if e.IsDir() && errors.Is(err, errSkip) {
				continue
			}
			return err
		}
		if err := w.below(e, ig); err != nil {
			return err
		}
	}
	return nil
}

// below visits the entries of a directory entry.
func (w *walker) below(e entry, ig *ignore.Rules) error {
	if !e.IsDir() || e.depth() >= maxDepth {
		return nil
	}
	sub, err := e.in.Sub(e.Name())
	if err != nil {
		return nil // Not ours to read, or another thing by now.
	}
	defer sub.Close()
	return w.dir(sub, e.path, e.rel+"/", ig)
}

// readDir reads a directory, sorted by name; at most about limit entries if limit is not 0.
func readDir(ctx context.Context, d *disk.Dir, limit int) ([]fs.DirEntry, error) {
	all, err := d.Read(limit, func() bool { return ctx.Err() == nil })
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, err
}

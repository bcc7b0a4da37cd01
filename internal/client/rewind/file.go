package rewind

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/disk/changes"
)

var errNoRoot = errors.New("the directory of the session cannot be opened any more")

// look returns the current version of the file, and its content.
func (f *File) look(ctx context.Context, root *disk.Dir) (*changes.Version, []byte, error) {
	if f.isInTree && root == nil {
		return nil, nil, errNoRoot
	}
	if f.isInTree {
		return changes.Look(root, f.Path)
	}
	if f.isDirectoryOutside() {
		above, err := f.above()
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		defer above.Close()
		return changes.Look(above, path.Base(f.Path))
	}
	now, err := f.Look(ctx)
	return version(now.Past), now.Content, err
}

// restore replaces a version by another one.
func (f *File) restore(ctx context.Context, root *disk.Dir, from, to *changes.Version, content []byte) error {
	if f.isInTree && root == nil {
		return errNoRoot
	}
	if f.isInTree {
		return changes.Restore(root, f.Path, from, to, content)
	}
	if f.isDirectoryOutside() {
		above, err := f.above()
		if err != nil {
			return err
		}
		defer above.Close()
		return changes.Restore(above, path.Base(f.Path), from, to, nil)
	}
	return f.Restore(ctx, past(from), past(to), content)
}

// isDirectoryOutside reports whether a file tool created a directory outside of the directory of the
// session. Its path is canonical.
func (f *File) isDirectoryOutside() bool {
	return !f.isInTree && (isDirectory(f.Was) || isDirectory(f.Left))
}

// above opens the directory of a canonical path.
func (f *File) above() (*disk.Dir, error) {
	return disk.OpenDir(filepath.Dir(filepath.FromSlash(f.Path)))
}

// same reports whether two versions are equal. The file tools do not change permissions, so
// that only commands' changes compare them.
func (f *File) same(a, b *changes.Version) bool {
	if !f.isInTree && a != nil && b != nil {
		content := *a
		content.Mode = ""
		a = &content
	}
	return changes.Same(a, b)
}

// Kind is the kind of the earlier entry, or of a created one.
func (f *File) Kind() changes.Kind {
	if f.Was != nil {
		return f.Was.Kind
	}
	if f.Left != nil {
		return f.Left.Kind
	}
	return changes.File
}

func isDirectory(v *changes.Version) bool { return v != nil && v.Kind == changes.Directory }

// task is one change of a rewind.
type task struct {
	file     *File
	from, to *changes.Version
	rank     int
	isLater  bool // a second change of the same file
}

// The ranks, in the order of the changes.
const (
	removesFile      = iota
	removesDirectory // from below
	makesDirectory   // from above
	restoresFile
	locksDirectory // that its user cannot write to, from below
)

// userAll are the permissions that a directory needs for changes in it.
const userAll = 0o700

// inOrder returns the changes in an order in which each is possible.
func inOrder(todo []File) []task {
	var out []task
	for n := range todo {
		f := &todo[n]
		one := task{file: f, from: f.Left, to: f.Was, rank: restoresFile}
		switch {
		case f.Was == nil && isDirectory(f.Left):
			one.rank = removesDirectory
		case f.Was == nil:
			one.rank = removesFile
		case isDirectory(f.Was):
			one.rank = makesDirectory
			if f.Was.Perm()&userAll != userAll && f.Was.Mode != "" {
				open := *f.Was
				open.Mode = disk.FormatMode(f.Was.Perm() | userAll)
				one.to = &open
				out = append(out, task{f, &open, f.Was, locksDirectory, true})
			}
		}
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b task) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		switch a.rank {
		case removesDirectory, locksDirectory:
			return strings.Compare(path.Clean(b.file.Path), path.Clean(a.file.Path))
		case makesDirectory:
			return strings.Compare(path.Clean(a.file.Path), path.Clean(b.file.Path))
		}
		return 0
	})
	return out
}

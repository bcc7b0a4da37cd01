package changes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/disk/ignore"
)

// node identifies a version of an entry without its content.
type node struct {
	Kind   Kind   `json:"kind,omitempty"`
	Mode   string `json:"mode,omitempty"`
	Size   int64  `json:"size,omitempty"`
	MTime  int64  `json:"mtime,omitempty"` // ns
	CTime  int64  `json:"ctime,omitempty"` // ns
	Inode  uint64 `json:"inode,omitempty"`
	Device uint64 `json:"device,omitempty"`
}

// special is the kind of entries that are not recorded.
const special Kind = "special"

func plainNode(info fs.FileInfo) node {
	n := node{Mode: disk.FormatMode(info.Mode()), Size: info.Size(), MTime: info.ModTime().UnixNano()}
	switch {
	case info.IsDir():
		n.Kind = Directory
	case info.Mode()&fs.ModeSymlink != 0:
		n.Kind = Link
	case !info.Mode().IsRegular():
		n.Kind = special
	}
	return n
}

// sizeError reports that a tree has too many entries, and slowError that a walk took too long.
type (
	sizeError struct{ max int }
	slowError struct{ max time.Duration }
)

func (e *sizeError) Error() string {
	return fmt.Sprintf("the directory has more than %d files", e.max)
}

func (e *slowError) Error() string {
	return fmt.Sprintf("it took longer than %v to look at the files of the directory", e.max)
}

// maxDepth bounds the depth of a walk, which holds all directories above open.
const maxDepth = 200

// walk has the entries of a tree.
type walk struct {
	nodes map[string]node
	// skipped are the entries that were not entered or not inspected: everything at or below them
	// is unknown.
	skipped map[string]bool
	// missed are the skipped entries that could not be inspected, for instance because they
	// vanished during the walk.
	missed map[string]bool
}

// walker makes a walk.
type walker struct {
	walk
	ctx      context.Context
	limits   Limits
	until    time.Time
	excluded string // path of settle's own data below the root, or ""
	device   uint64
	top      string // path of the root from the top of its repository, "" or ending in a slash
	seen     int
}

// tour walks the tree of an open directory. excluded is a path below it that is left out; ""
// for none.
func tour(ctx context.Context, root *disk.Dir, limits Limits, excluded string) (walk, error) {
	w := walker{
		walk: walk{nodes: map[string]node{}, skipped: map[string]bool{}, missed: map[string]bool{}},
		ctx:  ctx, limits: limits, until: time.Now().Add(limits.Time), excluded: excluded,
	}
	rules, top := ignore.Above(root.Path())
	w.top = top
	if err := w.dir(root, "", rules, 0); err != nil {
		return walk{}, err
	}
	return w.walk, nil
}

// dir visits the entries of a directory, whose path from the root is rel, "" or ending in a
// slash.
func (w *walker) dir(d *disk.Dir, rel string, rules *ignore.Rules, depth int) error {
	names, err := d.Read(w.limits.Files-w.seen+1, func() bool { return w.check() == nil })
	if err := w.check(); err != nil {
		return err
	}
	if err != nil {
		w.miss(rel)
		return nil // it vanished, or it is not ours to read
	}
	has := map[string]bool{}
	for _, name := range []string{".git", ".gitignore"} {
		for _, e := range names {
			has[name] = has[name] || e.Name() == name
		}
	}
	rules = rules.Enter(d, w.top+rel, func(name string) bool { return has[name] })
	for _, e := range names {
		if err := w.entry(d, rel, e.Name(), rules, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) skip(path string) { w.skipped[path] = true }

// miss skips an entry that cannot be inspected; the path of a directory may end in a slash.
func (w *walk) miss(path string) {
	path = strings.TrimSuffix(path, "/")
	w.skipped[path], w.missed[path] = true, true
}

// check returns why the walk ends.
func (w *walker) check() error {
	switch {
	case w.ctx.Err() != nil:
		return context.Cause(w.ctx)
	case w.seen > w.limits.Files:
		return &sizeError{w.limits.Files}
	case time.Now().After(w.until):
		return &slowError{w.limits.Time}
	}
	return nil
}

// checkEvery is the number of entries between two looks at the clock.
const checkEvery = 64

func (w *walker) entry(d *disk.Dir, rel, name string, rules *ignore.Rules, depth int) error {
	path := rel + name
	if isOwn(name) || !utf8.ValidString(name) || path == w.excluded {
		w.skip(path)
		return nil
	}
	if w.seen++; w.seen%checkEvery == 0 || w.seen > w.limits.Files {
		if err := w.check(); err != nil {
			return err
		}
	}
	info, err := d.Lstat(name)
	if err != nil { // also if it is missing for a moment: it must not count as created or deleted
		w.miss(path)
		return nil // it vanished, or it is not ours to read
	}
	n := nodeOf(info)
	if n.Kind == Directory {
		if isGenerated(name) || depth >= maxDepth || rules.Ignored(w.top+path, true) || w.isMount(d, n) {
			w.skip(path)
			return nil
		}
		w.nodes[path] = n
		return w.below(d, path, rules, depth)
	}
	w.nodes[path] = n
	return nil
}

func (w *walker) below(d *disk.Dir, path string, rules *ignore.Rules, depth int) error {
	sub, err := d.Sub(filepath.Base(path))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			delete(w.nodes, path)
		}
		w.miss(path)
		return nil // it vanished, is something else by now, or not ours to read
	}
	defer sub.Close()
	return w.dir(sub, path+"/", rules, depth+1)
}

// isMount reports whether a directory is on another file system than its parent.
func (w *walker) isMount(d *disk.Dir, n node) bool {
	if w.device == 0 {
		if info, err := d.Stat(); err == nil {
			w.device = nodeOf(info).Device
		}
	}
	return n.Device != w.device
}

// isGenerated reports whether a directory of that name has files that tools make anew.
func isGenerated(name string) bool {
	switch name {
	case "node_modules", ".venv", "__pycache__":
		return true
	}
	return false
}

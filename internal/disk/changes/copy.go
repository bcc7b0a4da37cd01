package changes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/disk"
)

// copier completes the tree of a walk with contents.
type copier struct {
	root   *disk.Dir
	limits Limits
	until  time.Time
	base   *base // that gets copies; nil for hashes only
	old    *tree // the last tree; can be nil
	// after reports that the old tree is the tree before a call: changed files are hashed even if
	// the base has no room for them.
	after bool

	dir  *disk.Dir // the last directory, with its path
	path string
}

// complete returns the tree. Files that did not change since the old tree are not read.
func (c *copier) complete(ctx context.Context, w walk) (*tree, error) {
	t := &tree{entries: make(map[string]*entry, len(w.nodes)), skipped: w.skipped}
	var todo []string
	for name, n := range w.nodes {
		if n.Kind == Directory { // changes of its entries are not its own
			n = node{Kind: n.Kind, Mode: n.Mode, Inode: n.Inode, Device: n.Device}
		}
		old := c.old.entry(name)
		if old != nil && (old.isCurrent(n) && (old.kept || c.base == nil) ||
			n.Kind == Directory && old.node == n || n.Kind == special && old.Kind == special && c.after) {
			t.entries[name] = old
			continue
		}
		t.entries[name] = &entry{node: n, fresh: c.after}
		if n.Kind != Directory && n.Kind != special {
			todo = append(todo, name)
		}
	}
	slices.SortFunc(todo, func(a, b string) int {
		if d := strings.Compare(path.Dir(a), path.Dir(b)); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	defer c.close()
	for _, name := range todo {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !c.read(name, t.entries[name]) {
			delete(t.entries, name)
			w.miss(name) // as in walker.entry
		}
	}
	if c.after {
		t.keepMissed(c.old, w.missed)
	}
	return t, nil
}

// keepMissed gives entries that the walk after a call could not inspect the state of the tree
// before the call. The walk after a parallel call, which finds what has become of them, is then
// compared with it.
func (t *tree) keepMissed(old *tree, missed map[string]bool) {
	if old == nil || len(missed) == 0 {
		return
	}
	for name := range missed {
		t.skipped[name] = old.isUnknown(name)
	}
	for name := range old.skipped {
		if isAtOrBelow(name, missed) {
			t.skipped[name] = true
		}
	}
	maps.DeleteFunc(t.skipped, func(_ string, isSkipped bool) bool { return !isSkipped })
	for name, e := range old.entries {
		if t.entries[name] == nil && isAtOrBelow(name, missed) {
			t.entries[name] = e
		}
	}
}

func (t *tree) entry(name string) *entry {
	if t == nil {
		return nil
	}
	return t.entries[name]
}

func (c *copier) close() {
	if c.dir != nil {
		c.dir.Close()
	}
	c.dir = nil
}

// in returns the open directory of an entry.
func (c *copier) in(name string) (*disk.Dir, error) {
	at := path.Dir(name)
	if c.dir != nil && c.path == at {
		return c.dir, nil
	}
	c.close()
	d, err := c.root.Below(at)
	c.dir, c.path = d, at
	return d, err
}

// read reads the content of a file or link into e. It reports false if there is no such entry
// any more, or if it is of another kind by now.
func (c *copier) read(name string, e *entry) bool {
	d, err := c.in(name)
	if err == nil && e.Kind == Link {
		e.Target, err = d.Readlink(path.Base(name))
		e.Checked = time.Now().UnixNano()
		return err == nil
	}
	if err == nil {
		err = c.content(d, name, e)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.As(err, new(*disk.NotRegularError)),
		errors.As(err, new(*disk.ChangedError)):
		return false
	case err == nil:
		return true
	}
	e.SHA256, e.kept, e.why = "", false, err.Error()
	if old := c.old.entry(name); old != nil &&
		(old.node == e.node || errors.Is(err, fs.ErrPermission) && old.isOnlyModeOf(e.node)) {
		e.SHA256, e.kept, e.why, e.Checked = old.SHA256, old.kept, old.why, 0
	}
	return true
}

// isOnlyModeOf reports whether n differs from the entry by its permissions alone.
func (e *entry) isOnlyModeOf(n node) bool {
	n.Mode, n.CTime = e.Mode, e.CTime
	return e.node == n
}

// content reads a file: for a copy, or for its hash if the base has no room and the file is new.
func (c *copier) content(d *disk.Dir, name string, e *entry) error {
	switch {
	case e.Size > c.limits.fileBytes():
		return fmt.Errorf("it is larger than %d bytes", c.limits.fileBytes())
	case time.Now().After(c.until):
		return errors.New("settle had no time left to read it")
	}
	noRoom := c.base != nil && !c.base.hasRoom(e.Size)
	if noRoom && !(c.after && c.isChanged(name, e)) {
		return c.roomError()
	}
	f, info, err := d.Open(path.Base(name))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	checked := time.Now().UnixNano()
	content, err := io.ReadAll(io.LimitReader(f, c.limits.fileBytes()+1))
	if err != nil {
		return fmt.Errorf("cannot read it: %w", err)
	}
	if int64(len(content)) > c.limits.fileBytes() {
		return fmt.Errorf("it is larger than %d bytes", c.limits.fileBytes())
	}
	afterwards, err := f.Stat()
	if err != nil {
		return err
	}
	e.node = nodeOf(info)
	if nodeOf(afterwards) != e.node {
		checked = 0 // it is being written: it is read again at the next walk
	}
	e.SHA256, e.Checked = disk.Sum(content), checked
	if c.base == nil || noRoom {
		if noRoom {
			e.why = c.roomError().Error()
		}
		return nil
	}
	if err := c.base.put(e.SHA256, content); err != nil {
		e.why = fmt.Sprintf("it could not be copied: %v", err)
		return nil
	}
	e.kept = true
	return nil
}

// isChanged reports whether a file differs from the old tree, or can differ.
func (c *copier) isChanged(name string, e *entry) bool {
	old := c.old.entry(name)
	return old == nil || old.kept || old.node != e.node
}

func (c *copier) roomError() error {
	return fmt.Errorf("the files of the directory have more than %d bytes", c.limits.Bytes)
}

// sums returns the hashes of the contents that a tree keeps.
func (t *tree) sums() map[string]bool {
	out := map[string]bool{}
	if t == nil {
		return out
	}
	for e := range maps.Values(t.entries) {
		if e.kept {
			out[e.SHA256] = true
		}
	}
	return out
}

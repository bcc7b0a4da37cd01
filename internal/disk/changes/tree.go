package changes

import (
	"maps"
	"path"
	"slices"
	"sync"
	"time"
)

// entry is an entry of a tree, with its content as far as it is known.
type entry struct {
	node
	SHA256 string `json:"sha256,omitempty"`
	Target string `json:"target,omitempty"`
	// Checked is the time, in ns, at which the content was known to be the node's.
	Checked int64 `json:"checked,omitempty"`
	// kept reports that the base has a copy of the content. why is the reason why the content is
	// not known or not stored.
	kept bool
	why  string
	// fresh reports that the entry appeared while calls ran.
	fresh bool
}

func (e *entry) version() *Version {
	v := &Version{Kind: e.Kind, SHA256: e.SHA256, Mode: e.Mode, Target: e.Target}
	switch {
	case e.Kind == Link:
		v.Mode = ""
	case e.Kind == File && e.SHA256 == "":
		v.Size = e.Size
	}
	return v
}

// clockStep is more than the step of the clock that file systems use: a file that was changed
// less than this before it was read can have changed once more with the same ctime.
const clockStep = 30 * time.Millisecond

// isCurrent reports whether the entry's content is still the content of n.
func (e *entry) isCurrent(n node) bool {
	if e.node != n {
		return false
	}
	return n.Kind == File && e.SHA256 != "" && e.Checked-n.CTime > int64(clockStep)
}

// tree is a directory at one time.
type tree struct {
	entries map[string]*entry
	skipped map[string]bool
	at      time.Time // when its walk began
}

// isUnknown reports whether the walk of the tree did not look at a path that it has no entry of.
func (t *tree) isUnknown(name string) bool { return isAtOrBelow(name, t.skipped) }

// isAtOrBelow reports whether a path is one of several, or lies below one; "" is the root.
func isAtOrBelow(name string, paths map[string]bool) bool {
	for ; name != "." && name != "/"; name = path.Dir(name) {
		if paths[name] {
			return true
		}
	}
	return paths[""]
}

// compare returns the changes between two trees of the same directory, in the order of paths.
func compare(before, after *tree) []Change {
	var out []Change
	names := slices.Collect(maps.Keys(before.entries))
	for name := range after.entries {
		if before.entries[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	known := sync.OnceValue(before.contents) // few calls need it
	for _, name := range names {
		b, a := before.entries[name], after.entries[name]
		wasSpecial := b != nil && b.Kind == special
		if wasSpecial {
			b = nil
		}
		if a != nil && a.Kind == special { // it is not recorded, but has replaced what is
			a = nil
		}
		switch {
		case b == nil && a == nil:
		case a == nil && !after.isUnknown(name):
			out = append(out, deleted(name, b))
		case b == nil && !before.isUnknown(name):
			c := Change{Path: name, After: a.version(), Why: created(a)}
			if wasSpecial && !before.entries[name].fresh {
				c.Why = "something else than a file was there, such as a pipe or a socket"
			}
			if c.Why == "" && a.isOlder(before.at) && !known()[a.content()] {
				c.Why = "it is older than the call, so it may have been moved from a place that is not recorded"
			}
			out = append(out, c)
		case a != nil && b != nil:
			if c, ok := updated(name, b, a); ok {
				out = append(out, c)
			}
		}
	}
	return out
}

// isOlder reports whether a file or link was last changed before a time. A move keeps the time of
// the last change.
func (e *entry) isOlder(than time.Time) bool {
	return e.Kind != Directory && e.MTime < than.UnixNano()-int64(clockStep)
}

// content identifies the content of a file or link.
func (e *entry) content() Version { return Version{Kind: e.Kind, SHA256: e.SHA256, Target: e.Target} }

// contents returns the contents of all files and links of the tree.
func (t *tree) contents() map[Version]bool {
	out := make(map[Version]bool, len(t.entries))
	for _, e := range t.entries {
		out[e.content()] = true
	}
	return out
}

func deleted(name string, b *entry) Change {
	c := Change{Path: name, Before: b.version()}
	if b.Kind == File && !b.kept {
		c.Why = b.why
	}
	return c
}

func created(a *entry) string {
	if a.Kind == File && a.SHA256 == "" {
		return a.why
	}
	return ""
}

func updated(name string, b, a *entry) (Change, bool) {
	was, is := b.version(), a.version()
	if b == a || b.node == a.node && b.SHA256 == a.SHA256 || Same(was, is) {
		return Change{}, false
	}
	c := Change{Path: name, Before: was, After: is}
	switch {
	case b.Kind == File && !b.kept:
		c.Why = b.why
	case a.Kind == File && a.SHA256 == "":
		c.Why = a.why
	}
	return c, true
}

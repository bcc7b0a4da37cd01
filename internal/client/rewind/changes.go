package rewind

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/tool/file"
)

// Action is how a rewind treats a file.
type Action string

// The actions.
const (
	Restore  Action = "restore"  // it gets its earlier content back
	Recreate Action = "recreate" // so it does, and was deleted
	Remove   Action = "remove"   // it was created
	Same     Action = "same"     // the file already has its earlier content
	Keep     Action = "keep"     // the file stays; Why has the reason
)

// File is one that settle's tools changed.
type File struct {
	file.Target
	// Was is the content before the first change, and Left the content after the last one;
	// nil if there was no file.
	Was, Left *file.Past
	Do        Action
	Why       string
	// Between says that another program, such as a formatter, changed the file between two
	// changes. Those changes are lost as well.
	Between bool

	unrecorded bool // by a version of settle that did not record the earlier content
	imported   bool // only an imported log says that it changed
}

// Uncovered is something that may have changed files and cannot be undone.
type Uncovered struct {
	Kind UncoveredKind
	Text string
}

// UncoveredKind is the kind of an action whose changes are unknown.
type UncoveredKind string

// The kinds.
const (
	Command UncoveredKind = "command"
	Call    UncoveredKind = "call" // of a file tool with an unknown ending
	Child   UncoveredKind = "child"
)

// collector collects the changes of turns to files.
type collector struct {
	dir       string
	intended  func(call string, arguments []byte) json.RawMessage // nil for none
	files     []*File
	byPath    map[string]*File
	uncovered []Uncovered
	// isImported reports that the turn was imported: its log does not prove what it did to
	// files here.
	isImported bool
}

func collect(s event.State, first int, kept *disk.ContentStore) *collector {
	c := &collector{dir: s.Host.Dir, intended: kept.Intended, byPath: map[string]*File{}}
	for _, t := range s.Turns[first:] {
		c.isImported = t.StartSeq <= s.Imported
		for _, i := range t.Items {
			if i.Type() == event.ToolCall && i.Started {
				c.call(i)
			}
		}
	}
	for _, child := range s.Children {
		if child.StartSeq >= s.Turns[first].StartSeq {
			c.uncovered = append(c.uncovered, Uncovered{Child, cmp.Or(child.Title, child.Child)})
		}
	}
	return c
}

func (c *collector) call(i *event.Item) {
	content := i.Content()
	var args struct {
		Command string `json:"command"`
	}
	if json.Unmarshal([]byte(content.RanWith()), &args) == nil && args.Command != "" {
		c.uncovered = append(c.uncovered, Uncovered{Command, args.Command})
		return
	}
	if !slices.Contains([]string{"write", "edit", "apply_patch"}, content.Name) {
		return
	}
	var detail file.Changes
	if len(content.Detail) > 0 && json.Unmarshal(content.Detail, &detail) == nil {
		c.changes(detail.Files)
		return
	}
	if i.Status == event.ItemAborted || i.Status == event.ItemOpen {
		if c.intended != nil && json.Unmarshal(c.intended(i.ID, []byte(content.RanWith())), &detail) == nil {
			c.changes(detail.Files) // whether they were made, the files themselves say
			return
		}
		c.uncovered = append(c.uncovered, Uncovered{Call, content.Name + " " + content.RanWith()})
	}
}

// changes adds the changes of one call.
func (c *collector) changes(all []file.Change) {
	for _, one := range all {
		if one.From != "" &&
			!slices.ContainsFunc(all, func(change file.Change) bool { return change.Path == one.From }) {
			c.note(one.From, one.FromReal, one.Moved, nil, one.Moved != nil)
		}
		if one.Path == "" {
			continue
		}
		left := &file.Past{SHA256: one.SHA256}
		if one.Kind == file.Delete {
			left = nil
		}
		c.note(
			one.Path, one.Real, one.Before, left,
			one.Before != nil || one.Kind == file.Create || one.Kind == file.Move && one.Moved != nil,
		)
	}
}

func (c *collector) note(name, real string, was, left *file.Past, isRecorded bool) {
	name = path.Clean(name)
	f := c.byPath[name]
	switch {
	case f == nil:
		f = &File{Target: file.Target{Dir: c.dir, Path: name}}
		c.byPath[name] = f
		c.files = append(c.files, f)
		fallthrough
	case f.imported: // the first change that happened here counts
		f.Real, f.Was, f.unrecorded, f.imported = real, was, !isRecorded, c.isImported
	case isRecorded && !same(f.Left, was):
		f.Between = true
	}
	f.Left = left
}

// same reports whether two files have the same content, or there is neither.
func same(a, b *file.Past) bool {
	return a == nil && b == nil || a != nil && b != nil && a.SHA256 == b.SHA256
}

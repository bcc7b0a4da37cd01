package rewind

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/disk/changes"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/mcp"
)

// Action is the treatment of a file by a rewind.
type Action string

// The actions.
const (
	Restore  Action = "restore"  // it gets its earlier content back
	Recreate Action = "recreate" // it was deleted, and gets its earlier content back
	Remove   Action = "remove"   // the file is removed: a call created it
	Same     Action = "same"     // the file already has its earlier content
	Keep     Action = "keep"     // the file stays; Why has the reason
)

// File is a file, directory or link that a call changed.
type File struct {
	file.Target
	// Was is the version before the first change, and Left the version after the last one; nil if
	// there was no file.
	Was, Left *changes.Version
	Do        Action
	Why       string
	// By are the commands that changed the file, or during which it changed.
	By []string
	// Between reports that another program, such as a formatter, changed the file between two
	// changes. The program's changes are lost as well.
	Between bool

	isInTree   bool   // the path is in Dir, without links, and a command changed it
	lost       string // why its changes cannot be undone
	onlyCopy   string // why it must not be removed: it may have a content that cannot be restored
	unrecorded bool   // by a version of settle that did not record the earlier content
	size       int64  // of the present file, in bytes
	imported   bool   // only an imported log has the change
}

// Uncovered is something that may have changed files and cannot be undone. Why is the reason, if it
// is not the general reason of the kind.
type Uncovered struct {
	Kind UncoveredKind
	Text string
	Why  string
}

// UncoveredKind is the kind of an action whose changes are unknown.
type UncoveredKind string

// The kinds.
const (
	Command UncoveredKind = "command"
	Call    UncoveredKind = "call" // of another tool
	Child   UncoveredKind = "child"
)

// collector collects the changes of turns to files.
type collector struct {
	dir       string
	real      string                                              // dir without links
	intended  func(call string, arguments []byte) json.RawMessage // nil for none
	files     []*File
	byPath    map[string]*File
	uncovered []Uncovered
	names     map[string]string // of calls, by id
	commands  int               // recorded calls
	// isImported reports that the turn was imported: its log does not prove any change of files
	// here.
	isImported bool
}

// step is one call that started, at the time at which its changes were complete.
type step struct {
	item       *event.Item
	detail     json.RawMessage
	at         time.Time
	dir        string // that the call ran in
	isImported bool
	record     *changes.Record // in detail; nil for none
}

func collect(s event.State, first int, intended func(string, []byte) json.RawMessage) *collector {
	c := &collector{
		dir: s.Host.Dir, intended: intended, byPath: map[string]*File{}, names: map[string]string{},
	}
	c.real, _ = disk.Resolve(c.dir)
	var steps []step
	for _, t := range s.Turns[first:] {
		for _, i := range t.Items {
			if i.Type() == event.ToolCall && i.Started {
				steps = append(steps, c.step(i, t.Dir, t.StartSeq <= s.Imported))
			}
		}
	}
	// Calls can end in another order than they start.
	slices.SortStableFunc(steps, func(a, b step) int { return a.at.Compare(b.at) })
	for _, one := range steps {
		c.isImported = one.isImported
		c.call(one)
	}
	for _, child := range s.Children {
		if child.StartSeq >= s.Turns[first].StartSeq {
			c.uncovered = append(c.uncovered, Uncovered{Kind: Child, Text: cmp.Or(child.Title, child.Child)})
		}
	}
	return c
}

// step returns the call with its detail, or with the changes that it intended if the detail has none.
func (c *collector) step(i *event.Item, dir string, isImported bool) step {
	content := i.Content()
	one := step{item: i, detail: content.Detail, at: i.EndedAt, dir: dir, isImported: isImported}
	kind, text := nameOf(content)
	c.names[i.ID] = content.Name
	if kind == Command {
		c.names[i.ID] = "$ " + text
	}
	one.record = changes.RecordOf(content.Detail)
	// An interrupt can come after a command has returned, and before its record is complete.
	isKnown, isCut := one.record != nil, true
	if isEdit(content.Name) { // a file tool that has returned reports its changes
		isKnown = bytes.Contains(content.Detail, []byte(`"files"`))
		isCut = i.Status == event.ItemAborted || i.Status == event.ItemOpen
	}
	if c.intended != nil && isCut && !isKnown {
		if cut := c.intended(i.ID, []byte(content.RanWith())); cut != nil {
			one.detail, one.record = cut, changes.RecordOf(cut)
		}
	}
	if one.record != nil {
		one.at = one.record.At
	}
	return one
}

// isEdit reports whether the tool reports its changes itself.
func isEdit(name string) bool { return slices.Contains([]string{"write", "edit", "apply_patch"}, name) }

// isServers reports whether a tool belongs to an MCP server, so that each call has a record.
func isServers(name string) bool {
	return strings.Contains(name, mcp.Separator) || name == mcp.CallName
}

// nameOf describes a call: a command as it was typed, another call by its tool and arguments.
func nameOf(content event.Content) (UncoveredKind, string) {
	var args struct {
		Command string `json:"command"`
	}
	if json.Unmarshal([]byte(content.RanWith()), &args) == nil && args.Command != "" {
		return Command, args.Command
	}
	return Call, content.Name + " " + content.RanWith()
}

// elsewhere returns the reason why a call's changes cannot be undone because the call ran in
// another directory than the session's; empty if it did not. The paths that the call recorded are
// relative to that directory. Changes of imported calls are never undone.
func (c *collector) elsewhere(one step) string {
	if one.isImported || one.dir == c.dir {
		return ""
	}
	if real, err := disk.Resolve(one.dir); err == nil && real == c.real {
		return ""
	}
	return "it ran in another directory, " + one.dir
}

func (c *collector) call(one step) {
	i, raw := one.item, one.detail
	content := i.Content()
	kind, text := nameOf(content)
	if record := one.record; record != nil {
		if why := c.elsewhere(one); why != "" && (len(record.Files) > 0 || record.Why != "") {
			c.uncovered = append(c.uncovered, Uncovered{kind, text, why})
			return
		}
		c.record(i.ID, kind, text, record)
		if len(content.Jobs) > 0 {
			c.uncovered = append(c.uncovered, Uncovered{
				kind, text,
				"what its job " + strings.Join(content.Jobs, ", ") + " changed after the call is not recorded",
			})
		}
		return
	}
	if kind == Command {
		c.uncovered = append(c.uncovered, Uncovered{Kind: Command, Text: text})
		return
	}
	if !isEdit(content.Name) {
		if isServers(content.Name) {
			c.uncovered = append(c.uncovered, Uncovered{kind, text, "its changes were not recorded"})
		}
		return
	}
	var detail file.Changes
	if len(raw) > 0 && json.Unmarshal(raw, &detail) == nil {
		if why := c.elsewhere(one); why != "" && slices.ContainsFunc(detail.Files, isRelative) {
			c.uncovered = append(c.uncovered, Uncovered{kind, text, why})
			return
		}
		c.changes(detail.Files) // of a cut call: whether they were made, the files themselves say
		return
	}
	if i.Status == event.ItemAborted || i.Status == event.ItemOpen {
		c.uncovered = append(c.uncovered, Uncovered{Kind: Call, Text: text})
	}
}

// record adds the changes that were recorded around a call.
func (c *collector) record(id string, kind UncoveredKind, text string, r *changes.Record) {
	c.commands++
	if r.Why != "" {
		c.uncovered = append(c.uncovered, Uncovered{kind, text, r.Why})
	}
	if r.More > 0 {
		why := fmt.Sprintf("%d more of its changes were not recorded", r.More)
		c.uncovered = append(c.uncovered, Uncovered{kind, text, why})
	}
	by := []string{c.names[id]}
	for _, parallel := range r.With {
		if name := c.names[parallel]; name != "" {
			by = append(by, name)
		}
	}
	onlyCopy := onlyCopyIn(r)
	for _, one := range r.Files {
		f, isNew := c.noteIn(one, len(r.With) > 0)
		if one.Before == nil {
			f.onlyCopy = cmp.Or(f.onlyCopy, onlyCopy)
		}
		for _, name := range by {
			if !isNew {
				break
			}
			if !slices.Contains(f.By, name) {
				f.By = append(f.By, name)
			}
		}
	}
}

// noteIn notes a change of a path in the directory; isShared reports that other calls ran at the
// same time. It reports false if one of them has recorded the same change.
func (c *collector) noteIn(one changes.Change, isShared bool) (f *File, isNew bool) {
	key := path.Clean(one.Path)
	if f := c.byPath[key]; f != nil && !f.imported {
		if changes.Same(f.Was, one.Before) && changes.Same(f.Left, one.After) {
			return f, false
		}
		between := f.Between
		c.note(key, file.Target{}, one.Before, one.After, true)
		f.Between = f.Between && !isShared || between
	} else {
		c.note(key, file.Target{Dir: c.dir, Path: key}, one.Before, one.After, true)
	}
	f = c.byPath[key]
	f.isInTree = f.isInTree || f.Path == key
	f.lost = cmp.Or(f.lost, one.Why)
	return f, true
}

// changes adds the changes of one call.
func (c *collector) changes(all []file.Change) {
	for _, one := range all {
		for _, path := range one.Made {
			c.edited(path, path, nil, &changes.Version{Kind: changes.Directory}, true)
		}
		if one.From != "" &&
			!slices.ContainsFunc(all, func(change file.Change) bool { return change.Path == one.From }) {
			c.edited(one.From, one.FromReal, version(one.Moved), nil, one.Moved != nil)
		}
		if one.Path == "" {
			continue
		}
		left := &changes.Version{SHA256: one.SHA256}
		if one.Kind == file.Delete {
			left = nil
		}
		c.edited(
			one.Path, one.Real, version(one.Before), left,
			one.Before != nil || one.Kind == file.Create || one.Kind == file.Move && one.Moved != nil,
		)
	}
}

// isRelative reports whether a change names a file relative to the directory of its call.
func isRelative(one file.Change) bool {
	return slices.ContainsFunc([]string{one.Path, one.From}, func(name string) bool {
		return name != "" && !filepath.IsAbs(filepath.FromSlash(name))
	})
}

// edited notes a change by a file tool, of a file or a directory above it. The path of a directory is
// canonical.
func (c *collector) edited(name, real string, was, left *changes.Version, isRecorded bool) {
	name = path.Clean(name)
	key := name
	// The name is absolute if the call ran in another directory.
	if rel, err := filepath.Rel(c.real, filepath.FromSlash(cmp.Or(real, name))); err == nil && filepath.IsLocal(rel) {
		key = filepath.ToSlash(rel) // as commands' changes are recorded
		if real == "" || isDirectory(left) {
			name = key
		}
	}
	if f := c.byPath[key]; f != nil && f.isInTree && !f.imported && changes.Same(f.Was, was) &&
		changes.Same(f.Left, left) {
		f.By = nil // a command that ran at the same time has recorded the same change
		return
	}
	if isDirectory(left) {
		real = "" // the name leads there without links
	}
	c.note(key, file.Target{Dir: c.dir, Path: name, Real: real}, was, left, isRecorded)
	if f := c.byPath[key]; isDirectory(left) {
		f.isInTree = f.isInTree || f.Path == key && filepath.IsLocal(filepath.FromSlash(key))
	}
}

// version returns the version of a file that a file tool recorded.
func version(p *file.Past) *changes.Version {
	if p == nil {
		return nil
	}
	return &changes.Version{SHA256: p.SHA256, Mode: p.Mode}
}

// past is the inverse of version.
func past(v *changes.Version) *file.Past {
	if v == nil {
		return nil
	}
	return &file.Past{SHA256: v.SHA256, Mode: v.Mode}
}

func (c *collector) note(key string, t file.Target, was, left *changes.Version, isRecorded bool) {
	f := c.byPath[key]
	switch {
	case f == nil:
		f = &File{Target: t}
		c.byPath[key] = f
		c.files = append(c.files, f)
		fallthrough
	case f.imported: // the first change that happened here counts
		f.Real, f.Was, f.unrecorded, f.imported = t.Real, was, !isRecorded, c.isImported
	case isRecorded && !changes.Same(f.Left, was):
		f.Between = true
	}
	f.Left = left
}

package toolview

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/settle-agent/settle/tool/file"
)

// Change is a made or planned change of one file by a call. Its paths are absolute.
type Change struct{ file.Change }

// Changes returns the made or planned changes of a call of kind Edit. They come from detail, which
// is of the call's result or approval. If detail has none, Changes returns, without diffs, the
// files that the call's arguments name.
func (c Call) Changes(detail json.RawMessage) []Change {
	var known file.Changes
	if len(detail) == 0 || json.Unmarshal(detail, &known) != nil || len(known.Files) == 0 {
		return c.named()
	}
	changes := make([]Change, len(known.Files))
	for i, f := range known.Files {
		changes[i] = c.change(f)
	}
	return changes
}

// named returns the changes that the arguments request.
func (c Call) named() []Change {
	switch {
	case c.Kind != Edit:
		return nil
	case c.Path != "":
		return []Change{c.change(file.Change{Path: c.Path, Kind: file.Update})}
	}
	planned, err := file.PatchChanges(c.patch)
	if err != nil {
		return nil // the tool refuses it as a whole
	}
	changes := make([]Change, len(planned))
	for i, f := range planned {
		changes[i] = c.change(f)
	}
	return changes
}

func (c Call) change(f file.Change) Change {
	f.Path = Absolute(c.Dir, f.Path)
	if f.From != "" {
		f.From = Absolute(c.Dir, f.From)
	}
	return Change{f}
}

// Body is the change's unified diff without the lines that name the files.
func (c Change) Body() string {
	if !strings.HasPrefix(c.Diff, "--- ") {
		return c.Diff
	}
	_, rest, _ := strings.Cut(c.Diff, "\n")
	_, rest, _ = strings.Cut(rest, "\n")
	return rest
}

// Content is the whole text of a file that is created or deleted, to the byte.
// It is not the whole where Cut says so.
func (c Change) Content() string {
	var b strings.Builder
	for _, h := range c.Hunks() {
		if c.Kind == file.Delete {
			b.WriteString(h.Before)
		} else {
			b.WriteString(h.After)
		}
	}
	return b.String()
}

// Hunk is one place in a file that changes: its text before and after, with the
// lines around it.
type Hunk struct{ Before, After string }

// Hunks are the places that change, in order.
func (c Change) Hunks() []Hunk {
	var hunks []Hunk
	var open *hunkText
	for line := range strings.Lines(c.Body()) {
		if strings.HasPrefix(line, "@@") {
			hunks = open.appendTo(hunks)
			open = &hunkText{}
			continue
		}
		if open != nil {
			open.add(line)
		}
	}
	return open.appendTo(hunks)
}

// hunkText collects the two sides of a hunk.
type hunkText struct {
	before, after strings.Builder
	sides         []*strings.Builder // that the last line went to
}

func (h *hunkText) add(line string) {
	switch line[0] {
	case '+':
		h.sides = []*strings.Builder{&h.after}
	case '-':
		h.sides = []*strings.Builder{&h.before}
	case ' ':
		h.sides = []*strings.Builder{&h.before, &h.after}
	case '\\': // the line before it ends the file without a newline
		for _, side := range h.sides {
			text := strings.TrimSuffix(side.String(), "\n")
			side.Reset()
			side.WriteString(text)
		}
		return
	default:
		return
	}
	for _, side := range h.sides {
		side.WriteString(line[1:])
	}
}

func (h *hunkText) appendTo(hunks []Hunk) []Hunk {
	if h == nil || h.before.Len() == 0 && h.after.Len() == 0 {
		return hunks
	}
	return append(hunks, Hunk{h.before.String(), h.after.String()})
}

// SameChanges reports whether two lists of changes show the same.
func SameChanges(a, b []Change) bool {
	return slices.EqualFunc(a, b, func(a, b Change) bool {
		return a.Path == b.Path && a.From == b.From && a.Kind == b.Kind && a.Diff == b.Diff && a.Cut == b.Cut
	})
}

package rewind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/disk/changes"
	"github.com/settle-agent/settle/internal/journal"
)

// Plan is the effect of a rewind.
type Plan struct {
	// Session is the session to rewind, and Turn the turn that the input began.
	Session, Turn string
	// Input is the text of the input, and At its time.
	Input string
	At    time.Time
	// Files are the files that settle's tools and commands changed since then, in the order of
	// their first changes.
	Files     []File
	Uncovered []Uncovered
	// Commands is the number of calls whose changes were recorded around them.
	Commands int

	// Dir is the directory of the session, which the paths are relative to.
	Dir string

	dataDir string
	kind    kind // that its snapshot records
	content func(sum string) ([]byte, error)
}

// InputError reports that the session has no such input.
type InputError struct {
	Input string
	// Inputs are the session's inputs.
	Inputs []string
}

func (e *InputError) Error() string {
	if len(e.Inputs) == 0 {
		return "the session has no input yet"
	}
	return fmt.Sprintf("there is no input %q; the inputs are:\n  %s", e.Input, strings.Join(e.Inputs, "\n  "))
}

// RunningError reports that the session has a running turn.
type RunningError struct{ Session string }

func (e *RunningError) Error() string {
	return fmt.Sprintf("a turn of session %q is running; interrupt it first; nothing was done", e.Session)
}

// Read makes the plan for the state before an input. The input is named by its ID, its
// turn's ID or its number; "" is the last input. Read also checks the files.
func Read(ctx context.Context, dataDir, session, input string) (*Plan, error) {
	s, err := journal.Load(dataDir, session)
	if err != nil {
		return nil, fmt.Errorf("cannot read session %q: %w", session, err)
	}
	first, err := find(s, input)
	if err != nil {
		return nil, err
	}
	if s.Running() != nil {
		if free, err := journal.Free(dataDir, session); err == nil && !free {
			return nil, &RunningError{session}
		}
	}
	kept := disk.SessionContents(settle.Store{Dir: dataDir}.OutputDir(session))
	intended, content := cutCalls(ctx, kept, s.Host.Dir, dataDir)
	c := collect(s, first, intended)
	t := s.Turns[first]
	p := &Plan{
		Session:   session,
		Turn:      t.ID,
		Input:     inputText(t),
		At:        t.StartedAt,
		Uncovered: c.uncovered,
		Commands:  c.commands,
		Dir:       s.Host.Dir,
		dataDir:   dataDir,
		kind:      kindRewind,
		content:   content,
	}
	for _, f := range c.files {
		p.Files = append(p.Files, *f)
	}
	p.Check(ctx)
	return p, nil
}

// cutCalls returns the recorded changes of calls that were cut, and where earlier contents are:
// also of calls that a killed host left, if no host has opened the session since.
func cutCalls(ctx context.Context, kept *disk.ContentStore, dir, dataDir string) (
	intended func(string, []byte) json.RawMessage, content func(string) ([]byte, error),
) {
	known := kept.Intents()
	root, err := openRoot(dir)
	if err != nil {
		return known, kept.Get
	}
	defer root.Close()
	dataDir, _ = disk.Resolve(dataDir)
	left := changes.Cut(ctx, changes.Config{Store: kept, DataDir: dataDir}, root)
	if left == nil {
		return known, kept.Get
	}
	return func(call string, arguments []byte) json.RawMessage {
			if one := known(call, arguments); one != nil {
				return one
			}
			return left.Intended(call, arguments)
		}, func(sum string) ([]byte, error) {
			content, err := kept.Get(sum)
			if errors.As(err, new(*disk.MissingError)) {
				content, err = left.Get(sum)
			}
			return content, err
		}
}

// openRoot opens the directory of a session.
func openRoot(dir string) (*disk.Dir, error) {
	if err := disk.CheckWorkDirName(dir); err != nil { // of an earlier version's log
		return nil, err
	}
	real, err := disk.Resolve(dir)
	if err != nil {
		return nil, err
	}
	return disk.OpenDir(real)
}

// find returns the index of the turn that the input began.
func find(s event.State, input string) (int, error) {
	last, number := -1, 0
	var all []string
	for n, t := range s.Turns {
		if len(t.Inputs) == 0 {
			continue
		}
		last = n
		number++
		if input == t.ID || input == strconv.Itoa(number) {
			return n, nil
		}
		for _, in := range t.Inputs {
			if in.ID == input {
				return n, nil
			}
		}
		line, _, _ := strings.Cut(inputText(t), "\n")
		all = append(all, fmt.Sprintf("%d  %s  %.60s", number, t.Inputs[0].ID, line))
	}
	if input == "" && last >= 0 {
		return last, nil
	}
	return 0, &InputError{input, all}
}

func inputText(t *event.Turn) string {
	var texts []string
	for _, in := range t.Inputs {
		texts = append(texts, transcript.Typed(&in))
	}
	return strings.Join(texts, "\n\n")
}

// Check reads the files on disk, and decides the action for each.
func (p *Plan) Check(ctx context.Context) {
	root, err := openRoot(p.Dir)
	if err == nil {
		defer root.Close()
	}
	for n := range p.Files {
		f := &p.Files[n]
		if err != nil && f.isInTree {
			f.Do, f.Why = Keep, err.Error()
			continue
		}
		f.Do, f.Why = p.check(ctx, root, f)
	}
	for kept := -1; kept != len(p.kept()); { // what is kept is a reason to keep more
		kept = len(p.kept())
		p.keepOnlyCopies(root)
		p.keepOccupied(root)
		if root != nil {
			p.keepBlocked(root)
		}
	}
}

// kept returns the files that a rewind should restore but cannot.
func (p *Plan) kept() (out []File) {
	for _, f := range p.Files {
		if f.Do == Keep {
			out = append(out, f)
		}
	}
	return out
}

func (p *Plan) check(ctx context.Context, root *disk.Dir, f *File) (Action, string) {
	if f.imported {
		return Keep, "the log of the change was imported, which proves nothing about this file"
	}
	if strings.ContainsRune(f.Real, utf8.RuneError) {
		return Keep, "its name was not UTF-8, so that the log cannot name it"
	}
	now, content, err := f.look(ctx, root)
	f.size = int64(len(content))
	switch {
	case f.lost != "" && (err != nil || !f.same(now, f.Was)):
		return Keep, f.lost
	case err != nil:
		return Keep, err.Error()
	case f.unrecorded:
		return Keep, "the log does not say what it was"
	case f.same(now, f.Was):
		return Same, "it is what it was"
	case !f.same(now, f.Left) && now == nil:
		return Keep, "another program or rewind deleted it since then"
	case !f.same(now, f.Left) && f.Left == nil:
		return Keep, "another program or rewind created it since then"
	case !f.same(now, f.Left):
		return Keep, "another program or rewind changed it since then"
	case f.Was == nil && f.onlyCopy != "":
		return Keep, f.onlyCopy
	case f.Was == nil:
		return Remove, "it was created"
	}
	_, err = p.contentOf(f, now)
	if missing := (*disk.MissingError)(nil); errors.As(err, &missing) {
		return Keep, "its earlier content is not kept any more"
	}
	if err != nil {
		return Keep, err.Error()
	}
	if f.Left == nil {
		return Recreate, "it was deleted"
	}
	return Restore, ""
}

// contentOf returns the earlier content of a file, if it is another one than now.
func (p *Plan) contentOf(f *File, now *changes.Version) ([]byte, error) {
	if f.Was == nil || f.Was.Kind != changes.File ||
		f.isInTree && now != nil && now.Kind == changes.File && now.SHA256 == f.Was.SHA256 {
		return nil, nil
	}
	return p.content(f.Was.SHA256)
}

// Changes are the files to change.
func (p *Plan) Changes() (out []File) {
	for _, f := range p.Files {
		if f.Do == Restore || f.Do == Recreate || f.Do == Remove {
			out = append(out, f)
		}
	}
	return out
}

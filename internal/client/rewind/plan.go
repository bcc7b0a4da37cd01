package rewind

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/journal"
)

// Plan is the effect of a rewind.
type Plan struct {
	// Session is the session to rewind, and Turn the turn that the input began.
	Session, Turn string
	// Input is the text of the input, and At its time.
	Input string
	At    time.Time
	// Files are the files that settle's tools changed since then, in the order of their
	// first changes.
	Files     []File
	Uncovered []Uncovered

	// Dir is the directory of the session, which the paths are relative to.
	Dir string

	dataDir string
	content func(sum string) ([]byte, error)
}

// InputError says that the session has no such input.
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

// RunningError says that the session has a running turn.
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
	c := collect(s, first, kept)
	t := s.Turns[first]
	p := &Plan{
		Session:   session,
		Turn:      t.ID,
		Input:     inputText(t),
		At:        t.StartedAt,
		Uncovered: c.uncovered,
		Dir:       s.Host.Dir,
		dataDir:   dataDir,
		content:   kept.Get,
	}
	for _, f := range c.files {
		p.Files = append(p.Files, *f)
	}
	p.Check(ctx)
	return p, nil
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
		text := in.Text
		if in.Command {
			text = "!" + text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n\n")
}

// Check reads the files on disk, and decides the action for each.
func (p *Plan) Check(ctx context.Context) {
	for n := range p.Files {
		f := &p.Files[n]
		f.Do, f.Why = p.check(ctx, f)
	}
}

func (p *Plan) check(ctx context.Context, f *File) (Action, string) {
	if f.imported {
		return Keep, "the log of the change was imported, which proves nothing about this file"
	}
	now, err := f.Look(ctx)
	switch {
	case err != nil:
		return Keep, err.Error()
	case f.unrecorded:
		return Keep, "the log does not say what it was"
	case same(now.Past, f.Was):
		return Same, "it is what it was"
	case !same(now.Past, f.Left) && now.Past == nil:
		return Keep, "another program deleted it since then"
	case !same(now.Past, f.Left) && f.Left == nil:
		return Keep, "another program created it since then"
	case !same(now.Past, f.Left):
		return Keep, "another program changed it since then"
	case f.Was == nil:
		return Remove, "it was created"
	}
	_, err = p.content(f.Was.SHA256)
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

// Changes are the files to change.
func (p *Plan) Changes() (out []File) {
	for _, f := range p.Files {
		if f.Do == Restore || f.Do == Recreate || f.Do == Remove {
			out = append(out, f)
		}
	}
	return out
}

// Kept returns the files that a rewind should restore but cannot.
func (p *Plan) Kept() (out []File) {
	for _, f := range p.Files {
		if f.Do == Keep {
			out = append(out, f)
		}
	}
	return out
}

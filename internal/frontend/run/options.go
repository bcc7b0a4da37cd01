package run

import (
	"context"
	"io"
	"slices"

	"github.com/settle-agent/settle/internal/client/oneturn"
	"github.com/settle-agent/settle/internal/terminal"
)

// Format is the form of a turn on standard output.
type Format string

// The formats.
const (
	// Plain shows the final answer alone.
	Plain Format = "plain"
	// Terminal shows the answer as it comes.
	Terminal Format = "terminal"
	// JSON shows one event a line, without deltas.
	JSON Format = "json"
	// JSONDeltas shows every event.
	JSONDeltas Format = "json-deltas"
)

// Volume is the amount of messages on standard error.
type Volume string

// The volumes.
const (
	// Normal reports progress on a terminal, and elsewhere only failures.
	Normal Volume = ""
	// Quiet reports only failures.
	Quiet Volume = "quiet"
	// Verbose reports progress everywhere, and on a terminal also the model's reasoning.
	Verbose Volume = "verbose"
)

// StatusTerminal is the terminal at standard error, if settle can draw on it.
type StatusTerminal struct {
	terminal.Palette
	// Width returns how many columns it has now, 0 if that is unknown.
	Width func() int
}

// Options configure the turn and its output.
type Options struct {
	oneturn.Options
	Format Format
	Volume Volume
	// StatusTerminal, if set, is the terminal at Stderr, for a status, colors and changes;
	// only the format Terminal draws on it.
	StatusTerminal *StatusTerminal
	// Columns, if set, returns the width of the terminal that shows the turn, where it cannot be
	// drawn on; 0 if that is unknown.
	Columns func() int
	// Answers, if set, is the terminal at which a person answers questions; sessions are
	// attended then. Forget discards keys typed before a question.
	Answers io.Reader
	Forget  func()
	// Notes are for a person who looks on. Missing are the notes about instructions that the model
	// does not receive, which standard error gets in any case.
	Notes, Missing []string
}

// Turn runs one turn to its end, shows it, closes the host and returns the exit
// code.
func Turn(ctx context.Context, o Options) (code int) {
	o.Verbose = o.Volume == Verbose
	return oneturn.Run(ctx, o.Options, func(stage oneturn.Stage) oneturn.View {
		if o.Format == JSON || o.Format == JSONDeltas {
			events := newLines(stage, o)
			if o.Volume == Verbose {
				return &narrated{lines: events, text: newTextView(stage, o)}
			}
			return events
		}
		s := newTextView(stage, o)
		if s.tty != nil {
			go s.animate(stage.Done) // ends with the run
		}
		for _, note := range o.Notes {
			if s.volume == Quiet && slices.Contains(o.Missing, note) {
				s.reportNow(note)
				continue
			}
			s.notice("note: %s", note)
		}
		return s
	})
}

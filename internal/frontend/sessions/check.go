package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/terminal"
)

// Inspection selects the logs to check against the contract, and the output format.
type Inspection struct {
	DataDir string
	// Sessions are their ids; none means all that there are.
	Sessions []string
	// Secrets must not occur in a log (C15). Secrets too short to be masked are ignored.
	Secrets []string
	// JSON asks for one object a line instead of words.
	JSON bool
}

// finding is the result of checking one log, and its JSON form.
type finding struct {
	Session string `json:"session"`
	Events  int    `json:"events"`
	Turns   int    `json:"turns"`
	// Open reports that a turn has not ended: Holder runs it, or its host died and the next
	// process that opens the session ends it.
	Open       bool        `json:"open,omitempty"`
	Holder     int         `json:"holder,omitempty"`
	Violations []violation `json:"violations,omitempty"`
	// Problem is the reason why the log cannot be read, or not completely.
	Problem string `json:"problem,omitempty"`
	missing bool
}

type violation struct {
	Clause string     `json:"clause"`
	Seq    uint64     `json:"seq,omitempty"`
	Kind   event.Kind `json:"kind,omitempty"`
	What   string     `json:"what"`
}

func (f finding) kept() bool { return len(f.Violations) == 0 && f.Problem == "" }

// Check checks each log against the contract and writes the findings. It returns an error
// if a log violates a clause or cannot be read to its end.
func (i Inspection) Check(ctx context.Context, to io.Writer) error {
	ids, err := i.sessions()
	if err != nil {
		return err
	}
	checked, broken := 0, 0
	for _, id := range ids {
		f := i.examine(ctx, id)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if f.missing && len(i.Sessions) == 0 {
			continue // another process deleted the session
		}
		checked++
		if !f.kept() {
			broken++
		}
		if err := i.write(to, f); err != nil {
			return err
		}
	}
	if broken > 0 {
		return fmt.Errorf("%d of %d sessions violate the contract", broken, checked)
	}
	return nil
}

func (i Inspection) sessions() ([]string, error) {
	if len(i.Sessions) > 0 {
		return i.Sessions, nil
	}
	if _, err := os.Stat(i.DataDir); err != nil { // a wrong name is not a good result
		return nil, fmt.Errorf("cannot find the sessions: %w", err)
	}
	list, err := journal.List(i.DataDir)
	ids := make([]string, 0, len(list))
	for _, entry := range list {
		ids = append(ids, entry.Session)
	}
	return ids, err
}

// examine reads a log as far as it is written now.
func (i Inspection) examine(ctx context.Context, session string) finding {
	f := finding{Session: session}
	var events []event.Event
	for e, err := range journal.Read(ctx, i.DataDir, session, 0) {
		if err != nil {
			f.Problem = problem(err)
			f.missing = errors.As(err, new(*journal.MissingError))
			break
		}
		events = append(events, e)
		if _, starts := e.Data.(event.TurnStarted); starts {
			f.Turns++
		}
	}
	f.Events = len(events)
	// An open turn at the end of a log breaks no guarantee yet: its host, or the next
	// process that opens the session, writes the ending.
	checker := contract.Checker{Unfinished: true, Secrets: i.secrets()}
	violations := contract.Violations(checker.Check(events))
	checker.Unfinished = false
	f.Open = len(contract.Violations(checker.Check(events))) > len(violations)
	if f.Open {
		f.Holder, _ = journal.Holder(i.DataDir, session) // 0 if the holder is unknown
	}
	for _, v := range violations {
		f.Violations = append(f.Violations, violation{v.Clause, v.Seq, v.Kind, v.What})
	}
	return f
}

func (i Inspection) secrets() []string {
	return slices.DeleteFunc(slices.Clone(i.Secrets), func(s string) bool { return len(s) < redact.MinLength })
}

// problem describes why a log cannot be read, and how settle treats it.
func problem(err error) string {
	if damage := (*journal.DamageError)(nil); errors.As(err, &damage) {
		return fmt.Sprintf(
			"%v; what comes before is checked; opening the session cuts the log there and saves the rest next to it",
			err,
		)
	}
	return err.Error()
}

func (i Inspection) write(to io.Writer, f finding) error {
	if i.JSON {
		return listing.JSON(to, []finding{f})
	}
	var b bytes.Buffer
	f.describe(&b)
	_, err := to.Write(b.Bytes())
	return err
}

// describe writes a line for the log, and one for each thing wrong with it.
func (f finding) describe(b *bytes.Buffer) {
	how := "no violations"
	switch n := len(f.Violations); {
	case n > 0:
		how = fmt.Sprintf("violations: %d", n)
	case f.Problem != "":
		how = "cannot be read to the end"
	}
	fmt.Fprintf(b, "%s: %d events, %d turns: %s\n", f.Session, f.Events, f.Turns, how)
	for _, v := range f.Violations {
		violation := contract.Violation{Clause: v.Clause, Seq: v.Seq, Kind: v.Kind, What: v.What}
		fmt.Fprintf(b, "  %s\n", terminal.Text(violation.Error()))
	}
	if f.Problem != "" {
		fmt.Fprintf(b, "  %s\n", terminal.Text(f.Problem))
	}
	switch {
	case f.Holder != 0:
		fmt.Fprintf(b, "  a turn is running in pid %d\n", f.Holder)
	case f.Open:
		fmt.Fprintf(b, "  a turn has not ended; if its process is dead, opening the session ends it\n")
	}
}

package settle

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
)

// Turn is the turn that works on an input, from when the input is accepted.
type Turn struct {
	session *Session
	input   string
	seq     uint64 // of the event that accepted it; 0 where that is to be found
}

// Outcome is how a turn ended.
type Outcome struct {
	// Turn is the turn's id; empty if there was none.
	Turn string
	// Cause says how it ended; nil if there was none.
	Cause *event.Cause
	// Answer is the last message that the model finished.
	Answer  string
	Summary event.Summary
	// Denied are the calls that did not run because a person, an Approver or the
	// policy denied them. The turn can complete all the same, since the model was
	// told and answered: check Denied before you rely on what it was asked to do.
	Denied []Denial
}

// Denial is a call that was not allowed to run.
type Denial struct {
	// Item is the call's id, and Tool what it would have called.
	Item, Tool string
	// Title is the call in one line.
	Title string
	// Policy names the policy that denied it without asking anybody, such as "ask"
	// if there was nobody to ask. Otherwise By says who denied it.
	Policy, By string
	// Message is what the model was told.
	Message string
}

// Completed reports whether the turn completed.
func (o Outcome) Completed() bool { return o.Cause != nil && o.Cause.Outcome == event.Completed }

// HeldError says that an input is held, because the turn before it was ended. It
// runs together with the next input.
type HeldError struct {
	Input  string
	Reason event.Reason
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("input %s is held, since the turn before it ended (%s); it will run with the next one", e.Input, e.Reason)
}

// ErrDropped says that somebody took the input back.
var ErrDropped = errors.New("the input was dropped")

// Input returns the id of the input.
func (t *Turn) Input() string { return t.input }

// Seq returns the number of the event that accepted the input, or 0 if an input
// with its id had been accepted before.
func (t *Turn) Seq() uint64 { return t.seq }

// Events yields the session's events from the one that accepted the input to
// the terminal event of the turn that took it. Stopping to read is no
// interrupt. An input that is held or dropped ends the sequence with a
// [*HeldError] or [ErrDropped]; ctx, with its cause.
func (t *Turn) Events(ctx context.Context) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		turn, found := "", false
		for e, err := range t.session.Events(ctx, max(t.seq, 1)-1) {
			if err != nil {
				yield(e, err)
				return
			}
			if found = found || t.accepts(e); !found {
				continue
			}
			if !yield(e, nil) {
				return
			}
			if t.isTakenBy(e) {
				turn = e.Turn
			}
			if turn != "" && e.Turn == turn && e.Terminal() {
				return
			}
			if err := t.notRunError(e); err != nil {
				yield(event.Event{}, err)
				return
			}
		}
		if err := context.Cause(ctx); err != nil {
			yield(event.Event{}, err)
			return
		}
		yield(event.Event{}, ErrClosed)
	}
}

// accepts reports whether the event is the one that accepted the input.
func (t *Turn) accepts(e event.Event) bool {
	d, ok := e.Data.(event.InputAccepted)
	return ok && d.Input == t.input
}

// takes reports whether the event says that a turn takes the input.
func (t *Turn) isTakenBy(e event.Event) bool {
	switch d := e.Data.(type) {
	case event.TurnStarted:
		return slices.Contains(d.Inputs, t.input)
	case event.AttemptStarted:
		return slices.Contains(d.Inputs, t.input)
	}
	return false
}

// stops says why the input will not be run now.
func (t *Turn) notRunError(e event.Event) error {
	switch d := e.Data.(type) {
	case event.InputHeld:
		if d.Input == t.input {
			return &HeldError{Input: d.Input, Reason: d.Reason}
		}
	case event.InputDropped:
		if d.Input == t.input {
			return ErrDropped
		}
	}
	return nil
}

// Wait waits for the turn's end. The error is nil if the turn completed, a
// [*event.Cause] if it was aborted or failed (errors.As finds a [*event.Failure] in it),
// a [*HeldError] or [ErrDropped] if there will be no turn, else what kept Wait
// from waiting, such as ctx.
func (t *Turn) Wait(ctx context.Context) (Outcome, error) {
	var last event.Event
	for e, err := range t.Events(ctx) {
		if err != nil {
			return Outcome{}, err
		}
		last = e
	}
	var cause *event.Cause
	t.session.actor.Log().View(func(s event.State) {
		if ended := s.Turn(last.Turn); ended != nil {
			cause = ended.Cause
		}
	})
	if cause == nil {
		return Outcome{}, fmt.Errorf("cannot tell how turn %s ended", last.Turn)
	}
	o := t.session.outcome(last.Turn, cause)
	if o.Completed() {
		return o, nil
	}
	return o, cause
}

// Interruption says which turn is to end, and how. The zero value means the one
// that runs, with grace.
type Interruption struct {
	// By says who asks: "user", a client's name.
	By string
	// Reason is the reason that the turn's ending gives; "" means interrupted.
	Reason event.Reason
	// Input, if set, is the id of the input that is meant: only its turn is
	// ended. An input that has not arrived yet is waited for; one that waits
	// behind another turn is held.
	Input string
	// Hurry leaves running calls no time to stop by themselves.
	Hurry bool
}

// Interrupt ends a turn and returns how it ended, after its terminal event is
// durable (C10). The turn may have completed instead; of an input whose turn is
// over, the Outcome is returned. If nothing was running that is meant, the
// Outcome is empty and returned at once.
func (s *Session) Interrupt(ctx context.Context, i Interruption) (Outcome, error) {
	o, err := s.actor.Interrupt(ctx, session.Request(i))
	if err != nil || o.Cause == nil {
		return Outcome{}, err
	}
	return s.outcome(o.Turn, o.Cause), nil
}

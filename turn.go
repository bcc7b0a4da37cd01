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

// Turn is the turn of an input, from the acceptance of the input.
type Turn struct {
	session *Session
	input   string
	seq     uint64 // number of the event that accepted the input; 0 if unknown
}

// Outcome describes how a turn ended.
type Outcome struct {
	// Turn is the turn's id; empty if there was no turn.
	Turn string
	// Cause is the cause of its end; nil if there was no turn.
	Cause *event.Cause
	// Answer is the last complete message of the model.
	Answer  string
	Summary event.Summary
	// Denied are the calls that a person, an Approver or the policy denied. The turn can
	// complete all the same, because the model receives each denial and continues: check
	// Denied before you rely on the work.
	Denied []Denial
}

// Denial is a call that was not allowed to run.
type Denial struct {
	// Item is the call's id, and Tool the tool that it names.
	Item, Tool string
	// Title is the call in one line.
	Title string
	// Policy names the policy that denied the call without a person, such as "ask" if no
	// person could be asked. Otherwise By names who denied it.
	Policy, By string
	// Message is the text that the model received.
	Message string
}

// Completed reports whether the turn completed.
func (o Outcome) Completed() bool { return o.Cause != nil && o.Cause.Outcome == event.Completed }

// HeldError reports that an input is held, because the turn before it was ended. It runs
// together with the next input.
type HeldError struct {
	Input  string
	Reason event.Reason
}

func (e *HeldError) Error() string {
	return fmt.Sprintf(
		"input %s is held, since the turn before it ended (%s); it will run with the next one", e.Input, e.Reason,
	)
}

// ErrDropped reports that a client removed the input.
var ErrDropped = errors.New("the input was dropped")

// Input returns the id of the input.
func (t *Turn) Input() string { return t.input }

// Seq returns the number of the event that accepted the input, or 0 if an input with its id
// was accepted before.
func (t *Turn) Seq() uint64 { return t.seq }

// Events yields the session's events from the acceptance of the input to the terminal event of
// its turn. A reader that stops does not interrupt the turn. If the input is held or dropped,
// the sequence ends with a [*HeldError] or [ErrDropped]; if ctx ends, with the cause of ctx.
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

// accepts reports whether the event accepted the input.
func (t *Turn) accepts(e event.Event) bool {
	d, ok := e.Data.(event.InputAccepted)
	return ok && d.Input == t.input
}

// isTakenBy reports whether a turn takes the input with the event.
func (t *Turn) isTakenBy(e event.Event) bool {
	switch d := e.Data.(type) {
	case event.TurnStarted:
		return slices.Contains(d.Inputs, t.input)
	case event.AttemptStarted:
		return slices.Contains(d.Inputs, t.input)
	}
	return false
}

// notRunError returns why the input does not run now; nil if it may run.
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

// Wait waits for the turn's end. The error is nil if the turn completed, a [*event.Cause] if
// it was aborted or failed, and a [*HeldError] or [ErrDropped] if the input does not run.
// errors.As finds the [*event.Failure] of a failed turn. Any other error is the reason why
// Wait ended early, such as the cause of ctx.
func (t *Turn) Wait(ctx context.Context) (o Outcome, err error) {
	turn, err := t.awaitEnd(ctx)
	if err == nil {
		err = t.setOutcome(&o, turn)
	}
	return o, err
}

// awaitEnd waits for the end of the turn, and returns its id. A stack of less than 2 KB takes 4 KB while it waits,
// a larger one 8 KB.
func (t *Turn) awaitEnd(ctx context.Context) (turn string, err error) {
	for e, err := range t.Events(ctx) {
		if err != nil {
			return "", err
		}
		turn = e.Turn
	}
	return turn, nil
}

// setOutcome sets how a turn ended, and returns the error of [Turn.Wait].
func (t *Turn) setOutcome(o *Outcome, turn string) error {
	var cause *event.Cause
	t.session.actor.Log().View(func(s event.State) {
		if ended := s.Turn(turn); ended != nil {
			cause = ended.Cause
		}
	})
	if cause == nil {
		return fmt.Errorf("cannot tell how turn %s ended", turn)
	}
	*o = t.session.outcome(turn, cause)
	if o.Completed() {
		return nil
	}
	return cause
}

// Interruption selects the turn that ends, and how. The zero value selects the running turn,
// with its grace.
type Interruption struct {
	// By names who interrupts: "user" or a client.
	By string
	// Reason is the reason that the turn's ending states; "" means interrupted.
	Reason event.Reason
	// Input, if set, is the id of an input: only its turn ends. If the input has not arrived
	// yet, the interrupt waits for it. If the input waits behind another turn, it is held.
	Input string
	// Hurry gives running calls no time to stop by themselves.
	Hurry bool
}

// Interrupt ends a turn and returns its outcome, after its terminal event is durable (C10). The
// turn may have completed instead. If the turn of the named input has ended before, Interrupt
// returns its outcome. If there is no turn to end, and no input to wait for, it returns an empty
// Outcome at once.
func (s *Session) Interrupt(ctx context.Context, i Interruption) (Outcome, error) {
	o, err := s.actor.Interrupt(ctx, session.Request(i))
	if err != nil || o.Cause == nil {
		return Outcome{}, err
	}
	return s.outcome(o.Turn, o.Cause), nil
}

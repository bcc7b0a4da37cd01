package transcript

import (
	"context"
	"iter"

	"github.com/settle-agent/settle/event"
)

// Source is a session that can be followed, such as [settle.Session].
type Source interface {
	// Events yields the events after the cursor, and then new events as they arrive.
	Events(ctx context.Context, cursor uint64) iter.Seq2[event.Event, error]
	// State returns a copy of the state after the events so far.
	State() event.State
}

// Follow yields the changes of the events after the cursor, and then of new events, until
// ctx ends or the session is closed. If the session cannot be read, the last element has
// the error. Slow reading delays no other reader (C17).
//
// Follow is fast for a cursor at the end of the log, or at the opening of a session that
// was just opened. It reads the state at the time of the call, not when the changes are
// read. For another cursor it reads the log from its beginning.
func Follow(ctx context.Context, s Source, cursor uint64, mode Mode) iter.Seq2[Change, error] {
	state := stateBefore(s.State(), cursor)
	return func(yield func(Change, error) bool) {
		t := New(state.Clone(), mode) // an iterator may be used again
		t.follow(s.Events(ctx, t.state.Seq), cursor, yield)
	}
}

// follow yields the changes of the events, without those up to the cursor.
func (t *Transcript) follow(events iter.Seq2[event.Event, error], cursor uint64, yield func(Change, error) bool) {
	for e, err := range events {
		var changes []Change
		if err == nil {
			changes, err = t.Take(e)
		}
		if err != nil {
			yield(Change{State: &t.state}, err)
			return
		}
		if e.Seq <= cursor {
			continue
		}
		for _, c := range changes {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// stateBefore is a state from which the log can be followed so that the changes
// after the cursor are right: the one given, the one before its session was
// opened, or the zero state.
func stateBefore(now event.State, cursor uint64) event.State {
	opened := now.Seq > 2 && now.Seq == now.HostSeq && now.Open
	switch {
	case cursor >= now.Seq:
		return now
	case opened && cursor == now.Seq-1:
		now.Seq, now.Open = cursor, false
		return now
	case opened && cursor == now.Seq-2: // an opening follows a closing, or a recovery
		now.Seq, now.Open = cursor, true
		return now
	}
	return event.State{}
}

package pending

import (
	"slices"

	"github.com/settle-agent/settle/event"
)

// How is the progress of an input.
type How string

// Stages of an input.
const (
	Taken   How = "taken" // by a turn
	Held    How = "held"
	Dropped How = "dropped"
	Ended   How = "ended" // the turn that took it
)

// Move is the meaning of an event for a request whose key is an input. The request stays
// pending until it is answered.
type Move[R any] struct {
	*Entry[R]
	How How
	// Turn is the turn of Taken and Ended.
	Turn string
	// Cause is the cause of the turn's end, or the reason why the input is held.
	Cause *event.Cause
}

// Step returns the effects of an event on the pending requests, in their order. Requests of several
// sessions can share one Requests if the input IDs are unique.
func (p *Requests[R]) Step(e event.Event) []Move[R] {
	switch d := e.Data.(type) {
	case event.TurnStarted:
		return p.taken(e, d.Inputs)
	case event.AttemptStarted:
		return p.taken(e, d.Inputs)
	case event.InputHeld:
		return p.about(d.Input, Move[R]{How: Held, Cause: event.Abort(d.Reason, e.By)})
	case event.InputDropped:
		return p.about(d.Input, Move[R]{How: Dropped, Cause: event.Abort(event.Interrupted, e.By)})
	}
	if !e.Terminal() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Move[R]
	for _, one := range p.open {
		if one.turn == e.Turn && one.session == e.Session {
			all = append(all, Move[R]{one, Ended, e.Turn, causeOf(e)})
		}
	}
	return all
}

// taken notes which turn has taken inputs.
func (p *Requests[R]) taken(e event.Event, inputs []string) []Move[R] {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Move[R]
	for _, one := range p.open {
		if slices.Contains(inputs, one.Key) {
			one.session, one.turn = e.Session, e.Turn
			all = append(all, Move[R]{one, Taken, e.Turn, nil})
		}
	}
	return all
}

func (p *Requests[R]) about(input string, m Move[R]) []Move[R] {
	if m.Entry = p.Find(input); m.Entry == nil {
		return nil
	}
	return []Move[R]{m}
}

// causeOf returns the cause of a turn's end, from its last event.
func causeOf(e event.Event) *event.Cause {
	switch d := e.Data.(type) {
	case event.TurnAborted:
		return &event.Cause{Outcome: event.Aborted, Reason: d.Reason, Limit: d.Limit, By: e.By, Message: d.Message}
	case event.TurnFailed:
		return event.Fail(d.Failure)
	}
	return event.Complete()
}

package history

import (
	"net/http"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// Parts is what a provider can refuse of a conversation that is otherwise fine:
// a set.
type Parts uint

const (
	seals Parts = 1 << iota // reasoning, which another account or server sealed
	images
)

// refusedPart returns what the failure is about. Where a request is too large
// in bytes, it is the images that make it so.
func refusedPart(kind model.ErrorKind, status int) Parts {
	switch {
	case kind == model.ErrReasoning:
		return seals
	case kind == model.ErrImage, status == http.StatusRequestEntityTooLarge:
		return images
	}
	return 0
}

// PartsOf returns what could be refused of r.
func PartsOf(r model.Request) (p Parts) {
	for _, i := range r.Input {
		if i.Seal != nil {
			p |= seals
		}
		if len(i.Images) > 0 {
			p |= images
		}
	}
	return p
}

// Yield reports whether a request with these parts holds what the provider
// refused with such a failure: later requests leave that out.
func (p Parts) Yield(kind model.ErrorKind, status int) bool {
	return p&refusedPart(kind, status) != 0
}

// refusals is what the target has refused of the conversation so far, and would
// refuse in every later request too (C6).
type refusals struct {
	attempts map[string]bool // whose reasoning and ids do not go back
	inputs   map[string]bool // whose images do not
}

// refusedBy reads the refusals off the failures of attempts. Reasoning is
// refused as a whole: a seal says nothing of itself. Images are refused that no
// response has come for yet, or else all of them.
func refusedBy(target Target, s event.State) refusals {
	r := refusals{attempts: map[string]bool{}, inputs: map[string]bool{}}
	var attempts, fresh, inputs []string
	show := func(list []event.Input) {
		for _, in := range list {
			if len(in.Images) > 0 {
				fresh = append(fresh, in.ID)
			}
		}
	}
	for _, t := range s.Turns {
		show(t.Inputs)
		for _, a := range t.Attempts {
			show(a.Inputs)
			switch refusedIn(target, a) {
			case seals:
				mark(r.attempts, attempts)
			case images:
				if len(fresh) == 0 {
					mark(r.inputs, inputs)
				}
				mark(r.inputs, fresh)
				fresh = nil
			}
			if a.End != nil && a.End.Outcome == event.Completed {
				inputs, fresh = append(inputs, fresh...), nil
			}
			attempts = append(attempts, a.ID)
		}
	}
	return r
}

// refusedIn returns what the target refused of the attempt's request.
func refusedIn(target Target, a *event.Attempt) Parts {
	if a.End == nil || a.End.Failure == nil || a.Start.Provider != target.Provider || a.Start.Model != target.Model {
		return 0
	}
	return refusedPart(model.ErrorKind(a.End.Failure.Kind), a.End.Failure.Status)
}

func mark(set map[string]bool, ids []string) {
	for _, id := range ids {
		set[id] = true
	}
}

package history

import (
	"net/http"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// part is what a provider can refuse of a conversation that is otherwise fine.
type part int

const (
	nothing part = iota
	sealed       // reasoning, which another account or server sealed
	pictures
)

// refusedPart returns what the failure is about. Where a request is too large
// in bytes, it is the images that make it so.
func refusedPart(kind model.ErrorKind, status int) part {
	switch {
	case kind == model.ErrReasoning:
		return sealed
	case kind == model.ErrImage, status == http.StatusRequestEntityTooLarge:
		return pictures
	}
	return nothing
}

// Yields reports whether r holds what the provider refused with such a failure:
// later requests leave that out.
func Yields(r model.Request, kind model.ErrorKind, status int) bool {
	refused := refusedPart(kind, status)
	for _, i := range r.Input {
		if refused == sealed && i.Seal != nil || refused == pictures && len(i.Images) > 0 {
			return true
		}
	}
	return false
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
			switch f := failureBy(target, a); {
			case f == nil:
			case refusedPart(model.ErrorKind(f.Kind), f.Status) == sealed:
				mark(r.attempts, attempts)
			case refusedPart(model.ErrorKind(f.Kind), f.Status) == pictures:
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

// failureBy returns with what the target failed the attempt, if it did.
func failureBy(target Target, a *event.Attempt) *event.Failure {
	if a.End == nil || a.Start.Provider != target.Provider || a.Start.Model != target.Model {
		return nil
	}
	return a.End.Failure
}

func mark(set map[string]bool, ids []string) {
	for _, id := range ids {
		set[id] = true
	}
}

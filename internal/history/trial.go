package history

import (
	"maps"
	"slices"

	"github.com/settle-agent/settle/event"
)

// trial is an omission of earlier parts whose effect is unknown. The first response proves it;
// then the parts stay omitted, and later items are not affected. A turn that ends without a
// response undoes it.
type trial struct {
	parts    []event.Part
	attempts []string // so far
	suspects []string
	turn     int
}

// change applies the changes before the turn's next attempt.
func (r *refusals) change(t *event.Turn) {
	for ; r.changes < len(t.Changes) && t.Changes[r.changes].Attempts <= r.ended; r.changes++ {
		c := t.Changes[r.changes]
		if c.Change == event.ChangeCompacted { // its text can be refused, like an input's
			id := compactionID(t.ID, r.changes)
			r.turns[id] = r.turn
			r.nextExchange.inputs = append(r.nextExchange.inputs, id)
			continue
		}
		if !r.target.concerns(c) {
			continue
		}
		switch c.Change {
		case event.ChangeLeftOut:
			r.trial = &trial{c.LeftOut, r.attempts, r.refusedInputs(), r.turn}
		case event.ChangeRestored:
			r.trial = nil
		}
	}
}

// concerns reports whether the change concerns the target.
func (target Target) concerns(c event.Epoch) bool {
	return c.Provider == target.Provider && c.Model == target.Model
}

// refusedInputs returns the refused inputs of earlier turns without a response.
func (r *refusals) refusedInputs() []string {
	return slices.DeleteFunc(slices.Clone(r.suspects), func(id string) bool { return r.turns[id] >= r.turn })
}

// settleTrial makes the omission of a trial permanent after a response.
func (r *refusals) settleTrial() {
	r.unexplained = 0
	if r.trial != nil {
		r.omit(*r.trial)
		r.trial = nil
	}
}

func (r *refusals) omit(t trial) {
	for _, p := range t.parts {
		switch p {
		case event.PartRefusedInputs:
			r.mark(r.omitTexts, t.suspects)
		case event.PartReasoning:
			r.mark(r.omitReasoning, t.attempts)
		case event.PartImages:
			for _, id := range slices.Collect(maps.Keys(r.turns)) {
				if r.turns[id] <= t.turn {
					r.mark(r.omitImages, []string{id})
				}
			}
		case event.PartDocuments:
			for _, id := range slices.Collect(maps.Keys(r.turns)) {
				if r.turns[id] <= t.turn {
					r.mark(r.omitDocuments, []string{id})
				}
			}
		case event.PartTools:
			r.mark(r.omitOutputs, t.attempts)
			r.mark(r.omitArguments, t.attempts)
		case event.PartAnswers:
			r.mark(r.omitResponses, t.attempts)
		case event.PartInputs:
			if r.firstTurn < t.turn {
				r.firstTurn = t.turn
				r.marks++
			}
		}
	}
}

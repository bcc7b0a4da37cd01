package appserver

import (
	"slices"

	"github.com/settle-agent/settle/event"
)

// itemsView is how much of a turn is told.
type itemsView string

const (
	notLoaded itemsView = "notLoaded"
	summary   itemsView = "summary" // the answer alone
	full      itemsView = "full"
)

// told returns the view's turn, with its items as far as is asked for.
func (v view) told(items itemsView) turn {
	t := v.turn
	status, err := ended(t.Cause)
	out := turn{
		ID: t.ID, RootTurnID: t.ID, Items: []any{}, ItemsView: string(items), Status: status, Error: err,
		StartedAt: seconds(t.StartedAt), CompletedAt: seconds(t.EndedAt),
	}
	if !t.EndedAt.IsZero() {
		ms := t.EndedAt.Sub(t.StartedAt).Milliseconds()
		out.DurationMs = &ms
	}
	switch items {
	case full:
		out.Items = v.all()
	case summary:
		if status == completed {
			out.Items = v.answer()
		} else {
			out.ItemsView = string(notLoaded)
		}
	}
	return out
}

func (v view) answer() []any {
	for _, i := range slices.Backward(v.turn.Items) {
		if i.Type() == event.Message && i.Status == event.ItemCompleted && !i.Discarded {
			return []any{v.item(i, nil)}
		}
	}
	return []any{}
}

// all returns what was said and done in the turn, in order, without what a
// later attempt said anew.
func (v view) all() []any {
	out := []any{}
	for _, in := range v.turn.Inputs {
		out = append(out, heard(in))
	}
	joined := 0
	for _, i := range v.turn.Items {
		for joined < len(v.turn.Attempts) && v.begunBy(joined, i) {
			for _, in := range v.turn.Attempts[joined].Inputs {
				out = append(out, heard(in))
			}
			joined++
		}
		if item := v.item(i, nil); item != nil && !i.Discarded && (i.Type() != event.ToolCall || i.Ready) {
			out = append(out, item)
		}
	}
	for _, a := range v.turn.Attempts[joined:] {
		for _, in := range a.Inputs {
			out = append(out, heard(in))
		}
	}
	return out
}

// begunBy reports whether the attempt had begun when the item did: items are of
// the attempt that runs, and the dates of both may be of clocks that jumped.
func (v view) begunBy(attempt int, i *event.Item) bool {
	return attempt <= slices.IndexFunc(v.turn.Attempts, func(a *event.Attempt) bool { return a.ID == i.Attempt })
}

// turns returns all turns of a thread.
func turns(state event.State) []turn {
	out := []turn{}
	for _, t := range state.Turns {
		out = append(out, view{state.Host.Dir, t}.told(full))
	}
	return out
}

package appserver

import (
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// itemsView is how much of a turn is shown.
type itemsView string

const (
	notLoaded itemsView = "notLoaded"
	summary   itemsView = "summary" // the answer alone
	full      itemsView = "full"
)

// turnOf returns the view's turn, with its items as far as is asked for.
func (v view) turnOf(items itemsView) turn {
	t := v.turn
	status, err := turnStatus(t.Cause)
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

// all returns what was said and done in the turn.
func (v view) all() []any {
	out := []any{}
	for e := range transcript.Entries(v.turn) {
		switch {
		case e.Input != nil:
			out = append(out, messageOf(*e.Input))
		case e.Item.Type() == event.ToolCall && !e.Item.Ready: // clients never saw it
		default:
			if item := v.item(e.Item, nil); item != nil {
				out = append(out, item)
			}
		}
	}
	return out
}

// turns returns all turns of a thread.
func turns(state event.State) []turn {
	out := []turn{}
	for _, t := range state.Turns {
		out = append(out, view{state.Host.Dir, t}.turnOf(full))
	}
	return out
}

package appserver

import (
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// itemsView is the part of a turn that is shown.
type itemsView string

const (
	notLoaded itemsView = "notLoaded"
	summary   itemsView = "summary" // the answer alone
	full      itemsView = "full"
)

// turnOf returns the view's turn, with its items as far as is asked for.
func (v view) turnOf(items itemsView) object {
	t := v.turn
	status, err := turnStatus(t.Cause)
	thread := []object{}
	switch {
	case items == full:
		thread = v.all()
	case items == summary && status == completed:
		thread = v.answer()
	default:
		items = notLoaded
	}
	return object{
		"id":         t.ID,
		"rootTurnId": t.ID,
		"items":      thread,
		"itemsView":  items,
		"status":     status,
		"error":      err,
		"startedAt": seconds(
			t.StartedAt,
		),
		"completedAt": seconds(t.EndedAt),
		"durationMs":  milliseconds(t.StartedAt, t.EndedAt, t.Cause),
	}
}

func (v view) answer() []object {
	for _, i := range slices.Backward(v.turn.Items) {
		if i.Type() == event.Message && i.Status == event.ItemCompleted && !i.Discarded {
			return []object{v.item(i, nil)}
		}
	}
	return []object{}
}

// all returns the items of the turn.
func (v view) all() []object {
	out := []object{}
	for e := range transcript.Entries(v.turn) {
		if e.Input != nil {
			out = append(out, messageOf(*e.Input))
		} else if item := v.item(e.Item, nil); item != nil && isSeen(e.Item) {
			out = append(out, item)
		}
	}
	return out
}

// isSeen reports whether clients see an item: a call, once its arguments are complete.
func isSeen(i *event.Item) bool { return i.Type() != event.ToolCall || i.Ready }

// turns returns all turns of a thread.
func turns(state event.State) []object {
	out := []object{}
	for _, t := range state.Turns {
		out = append(out, view{state.Host.Dir, t}.turnOf(full))
	}
	return out
}

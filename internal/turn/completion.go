package turn

import (
	"context"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool/task"
)

// reportEndedChildren reports background children that have ended to the model (C18). The log has
// the reports that the model has received, so that each child is reported once.
func (t *turn) reportEndedChildren() error {
	return t.update(func(s event.State) (out []event.Event) {
		for n, c := range s.UnreportedChildren() {
			id := s.NextItem(n)
			content := event.Content{
				Type: event.Note, Text: t.Redact.String(task.Report(c.ChildStarted, *c.Ended)), Child: c.Child,
			}
			out = append(out,
				event.Event{Turn: t.id, Item: id, Data: event.ItemStarted{Type: event.Note}},
				event.Event{Turn: t.id, Item: id, Data: event.ItemEnded{Status: event.ItemCompleted, Content: content}})
		}
		return out
	})
}

// finish completes the turn, unless the model has something to process: a steering input, or
// the end of a child. Both are decided inside the log's update, so that neither can be missed
// (C18).
func (t *turn) finish(ctx context.Context) (done bool, err error) {
	if t.AwaitChildren {
		t.awaitChildren(ctx)
	}
	if goesOn, err := t.runStopHooks(ctx); goesOn || err != nil {
		return false, err
	}
	unasked := true // whether a waiting input still has to pass the hooks
	for unasked && err == nil && ctx.Err() == nil {
		if err = t.admitSteering(ctx); err != nil {
			break
		}
		err = t.update(func(s event.State) []event.Event {
			joining := len(t.joining(s))
			unasked = joining < len(steeringInputs(s))
			if ctx.Err() != nil || unasked || joining > 0 || len(s.UnreportedChildren()) > 0 {
				return nil
			}
			done = true
			return event.Endings(s, event.Complete())
		})
	}
	switch {
	case done: // the log has the ending, even if only in memory
		t.endingErr = err
		return true, nil
	case err == nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return false, err
}

// awaitChildren waits while background children run, until a child ends, an input arrives or
// ctx ends.
func (t *turn) awaitChildren(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var seq uint64
	waits := func() (waits bool) {
		t.Log.View(func(s event.State) {
			seq = s.Seq
			for _, c := range s.Children {
				waits = waits || c.Background() && c.Ended == nil
			}
			waits = waits && len(s.UnreportedChildren()) == 0 && len(steeringInputs(s)) == 0
		})
		return waits
	}
	if !waits() {
		return
	}
	for e, err := range t.Log.Events(ctx, seq) {
		if err != nil {
			return
		}
		switch e.Data.(type) {
		case event.ChildEnded, event.InputAccepted:
			if !waits() {
				return
			}
		}
	}
}

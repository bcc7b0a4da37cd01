package appserver

import (
	"context"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// startTurn sends an input. While a turn runs it joins that turn, as in Codex;
// one that is being interrupted it does not.
func (l *loadedThread) startTurn(ctx context.Context, r *jsonrpc.Request, p inputParams) error {
	dir := l.opened.Spec.Dir
	if p.Cwd != "" && toolview.Absolute(dir, p.Cwd) != dir {
		return invalid("thread %s works in %q and cannot go to %q: start another thread there", p.ThreadID, dir, p.Cwd)
	}
	text, images, err := l.read(p.Input)
	if err != nil {
		return err
	}
	if err := l.change(ctx, p.RequestedRights, p.Model, p.Effort); err != nil {
		return err
	}
	o := []settle.InputOption{settle.WithImages(images...)}
	if isGiven(p.OutputSchema) {
		o = append(o, settle.WithSchema(p.OutputSchema))
	}
	from := &sender{r, func(t object) any { return object{"turn": t} }}
	return l.expanded(ctx, r, text, func(text string, images []event.Image) error {
		o := append(o, settle.WithImages(images...))
		if t := l.running(); t != nil && t.Interrupt == nil {
			return l.steer(ctx, t, from, p.ClientID, text, o...)
		}
		_, err := l.submit(ctx, from, p.ClientID, text, o...)
		return err
	})
}

func (l *loadedThread) steerTurn(ctx context.Context, r *jsonrpc.Request, p inputParams) error {
	t := l.running()
	switch {
	case t == nil || t.Interrupt != nil:
		return invalid("no active turn to steer")
	case t.ID != p.ExpectedTurnID:
		return invalid("expected active turn id %s but found %s", p.ExpectedTurnID, t.ID)
	}
	text, images, err := l.read(p.Input)
	if err != nil {
		return err
	}
	steered := func(t object) any { return object{"turnId": t["id"]} }
	return l.expanded(ctx, r, text, func(text string, more []event.Image) error {
		return l.steer(ctx, t, &sender{r, steered}, p.ClientID, text, settle.WithImages(append(images, more...)...))
	})
}

// interruptTurn interrupts the running turn. Without an id, it interrupts any turn and the
// inputs that are still being expanded. The answer is sent when the turn has ended.
// An id of another turn interrupts nothing.
func (l *loadedThread) interruptTurn(_ context.Context, r *jsonrpc.Request, p about) error {
	t, fetching := l.running(), l.fetching
	switch {
	case t == nil && (p.TurnID != "" || l.starts.Len() == 0 && fetching == nil):
		return invalid("no active turn to interrupt")
	case t != nil && p.TurnID != "" && t.ID != p.TurnID:
		return invalid("expected active turn id %s but found %s", p.TurnID, t.ID)
	}
	if fetching != nil {
		fetching(event.Abort(event.Interrupted, l.s.Client()))
	}
	switch {
	case t != nil:
		l.interrupt(r, t.ID)
	case l.starts.Len() > 0:
		l.interrupt(r, "")
	default:
		r.Reply(object{})
	}
	return nil
}

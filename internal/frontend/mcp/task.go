package mcp

import (
	"context"
	"errors"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/scope"
)

// task is the running work of a request: an input, and the turn that takes it.
type task struct {
	frontend *Frontend
	client   *client
	opened   *assemble.Opened
	turn     *settle.Turn
	progress *progress
}

// follow sends the turn's progress and questions to the client, and returns the turn's result. ctx
// is the context of the request: if the client cancels it, the turn is interrupted.
func (t *task) follow(ctx context.Context) (*result, error) {
	forget := context.AfterFunc(
		ctx, scope.Shield(scope.Log(t.frontend.Logger, nil, "giving up a task panicked"), func() { t.giveUp(ctx) }),
	) // ends with the turn
	defer forget()
	stop := t.progress.beat(ctx)
	defer stop()
	asking := asker.New(ctx, asker.Options{
		Session: t.opened,
		Ask:     t.ask,
		Fill:    t.fill,
		By:      t.client.name,
		Claims:  &t.frontend.claims,
		Failed: func(err error) {
			t.frontend.Logger.Info("an answer had no effect", "session", t.opened.ID(), "error", err)
		},
	})
	defer asking.Close()
	turn := ""
	for e, err := range t.turn.Events(context.WithoutCancel(ctx)) {
		if err != nil {
			if held := (*settle.HeldError)(nil); errors.As(err, &held) || errors.Is(err, settle.ErrDropped) {
				return heldResult(t.opened.ID(), err), nil
			}
			return nil, err
		}
		turn = e.Turn
		t.progress.take(e)
		asking.Take(e)
	}
	var out *result
	t.opened.View(func(st event.State) { out = resultOf(t.opened.ID(), st, turn) })
	return out, nil
}

// giveUp ends a turn whose request the client has cancelled. After the end of a
// connection, the frontend decides about running turns.
func (t *task) giveUp(ctx context.Context) {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		t.end(ctx)
	}
}

// end withdraws the input, or ends the turn that has taken it.
func (t *task) end(ctx context.Context) {
	if dropped, err := t.opened.Drop(t.turn.Input(), t.client.name()); dropped && err == nil {
		return // no turn had taken it
	}
	// The turn's ending reports the result.
	_, _ = t.opened.Interrupt(
		context.WithoutCancel(ctx), settle.Interruption{By: t.client.name(), Input: t.turn.Input()},
	)
}

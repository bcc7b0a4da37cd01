package mcp

import (
	"context"
	"errors"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/agent"
	"github.com/settle-agent/settle/internal/client/asker"
)

// job is what a request has under way: an input, and the turn that takes it.
type job struct {
	face     *Face
	client   *client
	opened   *agent.Opened
	turn     *settle.Turn
	progress *progress
}

// follow tells the client of the turn, has it asked, and returns how it ended.
// ctx is the request's: if the client cancels it, the turn is interrupted.
func (j *job) follow(ctx context.Context) (*result, error) {
	forget := context.AfterFunc(ctx, func() { j.giveUp(ctx) }) // ends with the turn
	defer forget()
	stop := j.progress.beat(ctx)
	defer stop()
	asking := asker.New(ctx, asker.Options{
		Session: j.opened, Ask: j.ask, By: j.client.name, Claims: &j.face.claims,
		Failed: func(err error) { j.face.Logger.Info("an answer had no effect", "session", j.opened.ID(), "error", err) },
	})
	defer asking.Close()
	turn := ""
	for e, err := range j.turn.Events(context.WithoutCancel(ctx)) {
		if err != nil {
			if held := (*settle.HeldError)(nil); errors.As(err, &held) || errors.Is(err, settle.ErrDropped) {
				return heldResult(j.opened.ID(), err), nil
			}
			return nil, err
		}
		turn = e.Turn
		j.progress.take(e)
		asking.Take(e)
	}
	var out *result
	j.opened.View(func(st event.State) { out = resultOf(j.opened.ID(), st, turn) })
	return out, nil
}

// giveUp ends what a client wants no more. Where the connection ended, the
// face sees to what runs.
func (j *job) giveUp(ctx context.Context) {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		j.end(ctx)
	}
}

// end withdraws the input, or ends the turn that has taken it.
func (j *job) end(ctx context.Context) {
	if dropped, err := j.opened.Drop(j.turn.Input(), j.client.name()); dropped && err == nil {
		return // no turn had taken it
	}
	// The turn's ending tells what came of it.
	_, _ = j.opened.Interrupt(context.WithoutCancel(ctx), settle.Interruption{By: j.client.name(), Input: j.turn.Input()})
}

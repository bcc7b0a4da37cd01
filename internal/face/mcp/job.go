package mcp

import (
	"context"
	"errors"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/agent"
)

// job is what a request has under way: an input, and the turn that takes it.
type job struct {
	face     *Face
	client   *client
	opened   *agent.Opened
	turn     *settle.Turn
	progress *progress

	asking sync.WaitGroup
	asked  map[string]context.CancelFunc // by approval: ends the question
}

// follow tells the client of the turn, has it asked, and returns how it ended.
// ctx is the request's: if the client cancels it, the turn is interrupted.
func (j *job) follow(ctx context.Context) (*result, error) {
	life := context.WithoutCancel(ctx)
	forget := context.AfterFunc(ctx, func() { j.giveUp(ctx) }) // ends with the turn
	defer forget()
	stop := j.progress.beat(ctx)
	defer stop()
	j.asked = map[string]context.CancelFunc{}
	defer j.asking.Wait()
	defer func() {
		for _, end := range j.asked {
			end()
		}
	}()
	turn := ""
	for e, err := range j.turn.Events(life) {
		if err != nil {
			if held := (*settle.HeldError)(nil); errors.As(err, &held) || errors.Is(err, settle.ErrDropped) {
				return heldResult(j.opened.ID(), err), nil
			}
			return nil, err
		}
		turn = e.Turn
		j.progress.take(e)
		j.approvals(ctx, e)
	}
	var out *result
	j.opened.View(func(st event.State) { out = resultOf(j.opened.ID(), st, turn) })
	return out, nil
}

// giveUp ends what a client wants no more. Where the connection ended, the
// face sees to what runs.
func (j *job) giveUp(ctx context.Context) {
	if !errors.Is(context.Cause(ctx), context.Canceled) {
		return
	}
	if dropped, err := j.opened.Drop(j.turn.Input(), j.client.name()); dropped && err == nil {
		return // no turn had taken it
	}
	_, _ = j.opened.Interrupt(context.WithoutCancel(ctx), settle.Interruption{By: j.client.name(), Input: j.turn.Input()}) // the turn's ending tells what came of it
}

// approvals asks about calls that wait, and ends questions that are answered.
func (j *job) approvals(ctx context.Context, e event.Event) {
	switch d := e.Data.(type) {
	case event.ApprovalRequested:
		if !j.opened.Pending(d.Approval) || !j.face.claim(j.opened.ID(), d.Approval) {
			return
		}
		asking, end := context.WithCancel(ctx)
		j.asked[d.Approval] = end
		j.asking.Go(func() { // follow waits for it, and ends it
			defer end()
			j.face.answer(asking, j.client, j.opened, d)
		})
	case event.ApprovalEnded:
		if end := j.asked[d.Approval]; end != nil {
			end()
			delete(j.asked, d.Approval)
		}
		j.face.unclaim(j.opened.ID(), d.Approval)
	}
}

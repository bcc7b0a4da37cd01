package proof

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
)

// childAgents are the child agents of a process, as far as their parent sees them: they
// start, they work for a time, and they end. That each is a session of its own is
// tested with package settle.
type childAgents struct {
	p *process

	mu   sync.Mutex // guards live
	live []*kid
}

type kid struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// answerText is a child's answer, which its parent must receive.
const answerText = "The child says: " + Secret

// spawn starts a child that works for a time. In the foreground it waits for its
// end.
func (k *childAgents) spawn(ctx context.Context, call string, background bool, long time.Duration) error {
	children := session.Children{Log: k.p.log, Redact: k.p.world.redactor, MaxRunning: 4, MaxTotal: 100}
	b, err := children.ChildStarted(
		ctx, session.ChildCall{Item: call, Background: background}, event.ChildStarted{Session: "child", Title: Secret},
	)
	if err != nil {
		return err
	}
	life := ctx
	if background {
		life = context.WithoutCancel(ctx)
	}
	life, cancel := context.WithCancelCause(life)
	x := &kid{cancel, make(chan struct{})}
	k.mu.Lock()
	k.live = append(k.live, x)
	k.mu.Unlock()
	if ctx.Err() != nil {
		cancel(context.Cause(ctx))
	}
	work := func() {
		defer close(x.done)
		defer cancel(nil)
		end := event.ChildEnded{
			Child:     b.Child,
			Outcome:   event.Completed,
			Answer:    answerText,
			ElapsedMS: long.Milliseconds(),
		}
		k.ask(life, cancel, call, b.Child)
		timer := time.NewTimer(long)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-life.Done():
			cause := event.Abort(event.Parent, "host")
			_ = errors.As(context.Cause(life), &cause)
			end.Outcome, end.Cause = event.Aborted, cause
		case <-k.p.life.Done(): // it dies with its process
			return
		}
		_ = children.ChildEnded(end) // where that cannot be written, the parent's end is not, either
	}
	if background {
		go work() // Wait waits for it
		return nil
	}
	work()
	return nil
}

// ask requests an approval for a child's call, if all calls need one. The request is in
// the parent's log, and the parent's turn can have ended (C16). The child continues after
// any answer.
func (k *childAgents) ask(life context.Context, cancel context.CancelCauseFunc, call, child string) {
	if k.p.approvals == nil {
		return
	}
	ctx, end := context.WithCancel(life)
	defer end()
	defer context.AfterFunc(k.p.life, end)() // it dies with its process
	_ = k.p.approvals.AskForChild(ctx, session.ChildApproval{
		Child: child, Item: call, Call: approval.Call{Tool: doer{}.Spec(), Title: "do", Text: "do " + Secret},
		Abort: func(by string) { cancel(event.Abort(event.Interrupted, by)) },
	}, nil)
}

// Cancel implements [session.ChildAgents].
func (k *childAgents) Cancel(cause *event.Cause) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, x := range k.live {
		x.cancel(cause)
	}
}

// Wait implements [session.ChildAgents].
func (k *childAgents) Wait(ctx context.Context) error {
	k.mu.Lock()
	live := k.live
	k.mu.Unlock()
	for _, x := range live {
		select {
		case <-x.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Finish implements [session.ChildAgents].
func (k *childAgents) Finish(ctx context.Context) error { return k.Wait(ctx) }

// running are the children that run, by their ids.
func (p *process) running() map[string]bool {
	ids := map[string]bool{}
	p.log.View(func(s event.State) {
		for _, c := range s.Children {
			if c.Ended == nil {
				ids[c.Child] = true
			}
		}
	})
	return ids
}

// orphans: C18, when an interrupt is answered that ended a turn, the children that
// ran when it was asked for have ended.
func (w *world) orphans(p *process, before map[string]bool) {
	for id := range p.running() {
		if before[id] {
			w.broke("C18", "an interrupt was answered, and child %s is running", id)
		}
	}
}

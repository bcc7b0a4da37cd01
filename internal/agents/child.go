package agents

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/tool/task"
)

// child is a child agent that this process started. It implements [task.Child].
type child struct {
	config Config
	order  task.Order
	start  session.StartedChild
	at     time.Time // of the start
	cancel context.CancelCauseFunc

	opened   chan struct{} // closed when the session is open or could not be opened
	done     chan struct{} // closed when the child's end is recorded
	finished chan struct{} // closed when the worktree is removed or kept as well

	mu      sync.Mutex // guards the fields below
	session Session    // nil before it is open and after the child's end
	memory  Session    // the session of an ended child whose log is in memory only
	waits   []Wait
	closed  bool // accepts no more messages
	end     *event.ChildEnded
}

// run opens the child's session, runs its turns and records its end.
func (c *child) run(ctx context.Context, p Prepared) {
	end := event.ChildEnded{Child: c.start.Child}
	defer close(c.finished)
	var s Session
	err := scope.Guard(func() (err error) { s, err = c.open(ctx, p); return err })
	close(c.opened)
	if err != nil {
		end.Outcome, end.Cause = c.failed(ctx, err)
	} else if err := scope.Guard(func() error { c.work(ctx, s, &end); return nil }); err != nil {
		c.panicked(err)
		end.Outcome, end.Cause = event.Failed, event.Fail(&event.Failure{Name: event.NamePanic, Message: err.Error()})
	}
	end.ElapsedMS = max(time.Since(c.at).Milliseconds(), 1)
	if !c.parentWaits(ctx) {
		end.Worktree = c.leaveWorktree(ctx)
	}
	err = c.config.Record.ChildEnded(end)
	if err != nil && !errors.Is(err, session.ErrClosed) {
		c.config.Logger.Error("cannot record the end of a child agent", "child", end.Child, "error", err)
	}
	c.mu.Lock()
	if p.InMemory {
		c.memory = c.session
	}
	c.end, c.closed, c.session, c.waits = &end, true, nil, nil
	c.mu.Unlock()
	close(c.done)
	if end.Worktree == nil {
		c.leaveWorktree(ctx)
	}
}

// failed returns the outcome and cause of a child that could not begin.
func (c *child) failed(ctx context.Context, err error) (event.Outcome, *event.Cause) {
	var cause *event.Cause
	if ctx.Err() != nil && errors.As(context.Cause(ctx), &cause) {
		return event.Aborted, c.causeOf(cause)
	}
	return event.Failed, event.Fail(&event.Failure{
		Name: event.NameInternal, Message: fmt.Sprintf("cannot start the child agent: %v", err),
	})
}

// causeOf returns the cause of a child whose context ends with the given cause: a
// foreground child ends because its parent's turn ends. A background child ends with its
// session, with an aborted turn of it (session/children.go), or because a client cancelled it.
func (c *child) causeOf(cause *event.Cause) *event.Cause {
	if c.order.Background || cause.Reason == event.Parent || cause.By == task.ByModel {
		return cause
	}
	out := event.Abort(event.Parent, cause.By)
	out.Message = cause.Error()
	return out
}

// open makes the child's worktree, if it has one, and opens its session.
func (c *child) open(ctx context.Context, p Prepared) (Session, error) {
	if w := c.start.Worktree; w != nil {
		if err := c.config.Worktrees.Make(ctx, c.start.Session, *w); err != nil {
			return nil, err
		}
	}
	s, err := p.Open(ctx, Origin{
		Order: c.order, Start: c.start, Meter: turn.MeterOf(ctx),
		Abort: func(by string) { c.cancel(event.Abort(event.Interrupted, by)) },
	})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = s
	return s, nil
}

// closeTimeout bounds the closing of a child's session, including its jobs.
const closeTimeout = 10 * time.Second

// work sends the prompt to the child, waits for the child's end and closes its session.
func (c *child) work(ctx context.Context, s Session, end *event.ChildEnded) {
	// Ends with the child's turn, or at once.
	stop := context.AfterFunc(ctx, scope.Shield(c.panicked, func() {
		c.interrupt(context.WithoutCancel(ctx), s, context.Cause(ctx))
	}))
	defer stop()
	err := c.send(context.WithoutCancel(ctx), c.order.Prompt, event.Queue)
	var cause *event.Cause
	if err == nil {
		cause = c.awaitTurns()
	}
	if cause == nil {
		if err == nil {
			err = session.ErrClosed
		}
		end.Outcome, end.Cause = c.failed(ctx, err)
	} else if end.Outcome = cause.Outcome; cause.Outcome != event.Completed {
		end.Cause = cause
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := s.CloseFor(closing, event.Parent, "host"); err != nil {
		c.config.Logger.Error("cannot close the session of a child agent", "session", c.start.Session, "error", err)
	}
	s.Actor().Log().View(func(state event.State) {
		end.Answer = task.Clip(lastText(state))
		spent := state.Spent()
		end.Spent = &spent
	})
}

// lastText returns the last text that the child's model wrote, complete or not.
// Discarded text counts only if there is no other.
func lastText(s event.State) (discarded string) {
	for _, t := range slices.Backward(s.Turns) {
		for _, i := range slices.Backward(t.Items) {
			text := i.Content().Text
			switch {
			case i.Type() != event.Message || text == "":
			case !i.Discarded:
				return text
			case discarded == "":
				discarded = text
			}
		}
	}
	return discarded
}

// send submits an input to the child.
func (c *child) send(ctx context.Context, text string, mode event.Mode) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return endedError(c.start.Child)
	case c.session == nil:
		return fmt.Errorf("agent %s is still starting; try again", c.start.Child)
	}
	wait, err := c.session.Send(ctx, text, mode)
	if err == nil {
		c.waits = append(c.waits, wait)
	}
	return err
}

// awaitTurns waits for the turns of all inputs of the child, and returns the cause of
// the last one. The child's limits or an interrupt end each turn.
func (c *child) awaitTurns() (cause *event.Cause) {
	for n := 0; ; n++ {
		c.mu.Lock()
		if n == len(c.waits) {
			c.closed = true
			c.mu.Unlock()
			return cause
		}
		wait := c.waits[n]
		c.mu.Unlock()
		if ended, held := wait(); ended != nil {
			cause = ended
		} else if held != "" && cause == nil {
			cause = event.Abort(held, "host")
		}
	}
}

// interrupt interrupts the child's turn. After that, send refuses all inputs, so that
// no model request follows.
func (c *child) interrupt(ctx context.Context, s Session, why error) {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	cause := event.Abort(event.Shutdown, "host")
	_ = errors.As(why, &cause)
	cause = c.causeOf(cause)
	_, _ = s.Actor().Interrupt(ctx, session.Request{
		By: cause.By, Reason: cause.Reason,
	}) // fails if the session is closed
}

// leaveTimeout bounds the removal of a worktree, which may be large.
const leaveTimeout = 10 * time.Second

// leaveWorktree removes the child's worktree, or leaves it to the user; nil if the
// child has no worktree. The child does not run any more.
func (c *child) leaveWorktree(ctx context.Context) *event.WorktreeLeft {
	if c.start.Worktree == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	left := c.config.Worktrees.Leave(ctx, c.start.Session, *c.start.Worktree)
	return &left
}

// parentWaits reports whether the child ends because its parent's turn or session
// ends. The parent waits for the child's end, but not for the child's worktree (C9).
func (c *child) parentWaits(ctx context.Context) bool {
	var cause *event.Cause
	if ctx.Err() == nil || !errors.As(context.Cause(ctx), &cause) {
		return ctx.Err() != nil
	}
	return c.causeOf(cause).Reason == event.Parent
}

// Status implements [task.Child].
func (c *child) Status() task.Status {
	c.mu.Lock()
	s, end := c.session, c.end
	c.mu.Unlock()
	out := task.Status{
		ChildStarted: c.start.ChildStarted, StartedAt: c.at, Ended: end, Doing: "starting", DoingSince: c.at,
	}
	if s != nil {
		s.Actor().Log().View(func(state event.State) { describe(state, &out) })
	}
	return out
}

// Done implements [task.Child].
func (c *child) Done() <-chan struct{} { return c.done }

// Send implements [task.Child].
func (c *child) Send(ctx context.Context, text string) error { return c.send(ctx, text, event.Steer) }

// Cancel implements [task.Child].
func (c *child) Cancel(cause *event.Cause) { c.cancel(cause) }

// events yields the events of the child's session, also after the session is closed.
func (c *child) events(ctx context.Context) iter.Seq2[event.Event, error] {
	c.mu.Lock()
	s := c.session
	if s == nil {
		s = c.memory
	}
	ended := c.end != nil
	c.mu.Unlock()
	switch {
	case s != nil:
		return s.Actor().Log().Events(ctx, 0)
	case ended:
		return journal.Read(ctx, c.config.DataDir, c.start.Session, 0)
	}
	return func(func(event.Event, error) bool) {} // the session could not be opened
}

// panicked logs a panic of the code that the child calls.
func (c *child) panicked(err error) {
	scope.LogPanic(c.config.Logger, nil, "a child agent panicked", err, "child", c.start.Child)
}

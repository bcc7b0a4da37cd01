package settle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/tool/task"
)

// children are the child agents of a session. It implements [task.Spawner] and
// [session.Kin].
//
// Locks are taken from the parent's towards the child's, and none while a log is
// written: a child writes into its parent's log, and waits for nothing else of it.
type children struct {
	parent *Session
	config SessionConfig // of the parent
	record session.Children
	depth  int // of the parent

	mu   sync.Mutex // guards what follows
	live map[string]*child
}

// child is a child agent that this process started.
type child struct {
	keeper  *children
	order   task.Order
	started session.Birth
	at      time.Time
	cancel  context.CancelCauseFunc
	opened  chan struct{} // closed when its session is open, or will never be
	done    chan struct{} // closed when its end is recorded
	left    chan struct{} // closed when nothing of it is left to do

	mu      sync.Mutex // guards what follows
	session *Session   // nil until it is open, and after its end
	kept    *Session   // of an ended child whose log is in memory only
	turns   []*Turn    // of the prompt and of messages
	closed  bool       // takes no messages any more
	ended   *event.ChildEnded
}

// Spawn implements [task.Spawner].
func (k *children) Spawn(ctx context.Context, o task.Order) (task.Child, error) {
	c, err := k.configure(ctx, o)
	if err != nil {
		return nil, err
	}
	started := event.ChildStarted{Session: NewSessionID(), Title: o.Title, Model: c.Model.Name}
	if o.Worktree {
		if started.Worktree, err = k.plan(ctx, started.Session); err != nil {
			return nil, err
		}
	}
	b, err := k.record.ChildStarted(ctx, session.ChildCall{Item: o.Call, Background: o.Background}, started)
	if err != nil {
		return nil, err
	}
	life := ctx
	if o.Background {
		life = context.WithoutCancel(ctx)
	}
	life, cancel := context.WithCancelCause(life)
	x := &child{keeper: k, order: o, started: b, at: time.Now(), cancel: cancel, opened: make(chan struct{}), done: make(chan struct{}), left: make(chan struct{})}
	k.mu.Lock()
	k.live[b.Child] = x
	k.mu.Unlock()
	if ctx.Err() != nil { // Cancel may have come before it was there
		cancel(context.Cause(ctx))
	}
	// Ends with the child, which ends soon after life; Wait waits for it.
	go scope.Shield(x.panicked, func() {
		defer cancel(nil)
		x.run(life, c)
	})()
	return x, nil
}

// configure returns how the child works: as its parent, and never with more.
func (k *children) configure(ctx context.Context, o task.Order) (SessionConfig, error) {
	c := k.config
	c.Model = k.parent.Model()
	if o.Model != "" && o.Model != c.Model.Name {
		if c.Tasks.Model == nil {
			return c, fmt.Errorf("cannot start an agent with the model %q: only %q is to be had here; leave model out", o.Model, c.Model.Name)
		}
		m, err := c.Tasks.Model(ctx, o.Model)
		if err != nil {
			return c, fmt.Errorf("cannot start an agent with the model %q: %w", o.Model, err)
		}
		c.Model = m
	}
	if o.Steps > 0 && (c.Limits.Steps == 0 || o.Steps < c.Limits.Steps) {
		c.Limits.Steps = o.Steps
	}
	for _, limit := range []time.Duration{c.Tasks.Time, o.Time} {
		if limit > 0 && (c.Limits.Time == 0 || limit < c.Limits.Time) {
			c.Limits.Time = limit
		}
	}
	// A child is done before its parent gives it up.
	c.InterruptGrace = cmp.Or(c.InterruptGrace, 250*time.Millisecond) * 3 / 5
	tasks := *c.Tasks
	tasks.AtEnd = AwaitTasks
	c.Tasks = &tasks
	c.MustExist, c.Take, c.LockTimeout, c.Value = false, false, 0, nil
	if c.Tasks.Configure != nil {
		c = c.Tasks.Configure(c)
	}
	return c, nil
}

// run takes the child from its start to its recorded end.
func (x *child) run(ctx context.Context, c SessionConfig) {
	end := event.ChildEnded{Child: x.started.Child}
	defer close(x.left)
	var s *Session
	err := scope.Guard(func() (err error) { s, err = x.open(ctx, c); return err })
	close(x.opened)
	if err != nil {
		end.Outcome, end.Cause = x.failed(ctx, err)
	} else {
		if err := scope.Guard(func() error { x.work(ctx, s, &end); return nil }); err != nil {
			x.panicked(err)
			end.Outcome, end.Cause = event.Failed, event.Fail(&event.Failure{Name: event.NamePanic, Message: err.Error()})
		}
	}
	end.ElapsedMS = max(time.Since(x.at).Milliseconds(), 1)
	if !x.isHurried(ctx) {
		end.Worktree = x.leave(ctx)
	}
	err = x.keeper.record.ChildEnded(end)
	if err != nil && !errors.Is(err, session.ErrClosed) {
		x.keeper.parent.logger.Error("the end of a child agent is not recorded", "child", end.Child, "error", err)
	}
	x.mu.Lock()
	if c.Ephemeral || x.keeper.parent.host.config.DataDir == "" {
		x.kept = x.session
	}
	x.ended, x.closed, x.session, x.turns = &end, true, nil, nil
	x.mu.Unlock()
	close(x.done)
	if end.Worktree == nil {
		x.leave(ctx)
	}
}

// failed is the end of a child that did not come to work.
func (x *child) failed(ctx context.Context, err error) (event.Outcome, *event.Cause) {
	var cause *event.Cause
	if ctx.Err() != nil && errors.As(context.Cause(ctx), &cause) {
		return event.Aborted, x.parental(cause)
	}
	return event.Failed, event.Fail(&event.Failure{Name: event.NameInternal, Message: fmt.Sprintf("the child agent could not begin: %v", err)})
}

// parental is the cause of a child that ends since what it belongs to does. One in the
// background belongs to no call: it is ended with its session, or by itself.
func (x *child) parental(cause *event.Cause) *event.Cause {
	if x.order.Background || cause.Reason == event.Parent || cause.By == task.ByModel {
		return cause
	}
	out := event.Abort(event.Parent, cause.By)
	out.Message = cause.Error()
	return out
}

// open opens the child's session.
func (x *child) open(ctx context.Context, c SessionConfig) (*Session, error) {
	k := x.keeper
	c, err := x.enter(ctx, c)
	if err != nil {
		return nil, err
	}
	s, err := k.parent.host.session(ctx, x.started.Session, c, &origin{
		parent: k.parent, order: x.order, depth: k.depth + 1, meter: turn.MeterOf(ctx),
		abort: func(by string) { x.cancel(event.Abort(event.Interrupted, by)) },
		birth: birth{child: x.started.Child, session: k.parent.id, turn: x.started.Turn, call: x.order.Call},
	})
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.session = s
	return s, nil
}

// closeTimeout bounds the end of a child's session, with what its tools left.
const closeTimeout = 10 * time.Second

// work sends the child its prompt, follows it to its end and closes its session.
func (x *child) work(ctx context.Context, s *Session, end *event.ChildEnded) {
	// Ends with the child's turn, or at once.
	stop := context.AfterFunc(ctx, scope.Shield(x.panicked, func() { x.interrupt(context.WithoutCancel(ctx), s, context.Cause(ctx)) }))
	defer stop()
	err := x.say(context.WithoutCancel(ctx), x.order.Prompt, event.Queue)
	var cause *event.Cause
	if err == nil {
		cause = x.follow()
	}
	if cause == nil {
		if err == nil {
			err = ErrClosed
		}
		end.Outcome, end.Cause = x.failed(ctx, err)
	} else if end.Outcome = cause.Outcome; cause.Outcome != event.Completed {
		end.Cause = cause
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := s.CloseFor(closing, event.Parent, "host"); err != nil {
		s.logger.Error("the session of a child agent did not close", "error", err)
	}
	s.View(func(state event.State) {
		end.Answer = task.Clip(lastWords(state))
		spent := state.Spent()
		end.Spent = &spent
	})
}

// lastWords are the last that the child said, also where it was cut. What it was to
// say anew counts only if there is nothing else.
func lastWords(s event.State) (discarded string) {
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

// say sends the child an input.
func (x *child) say(ctx context.Context, text string, mode event.Mode) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.closed:
		return fmt.Errorf("agent %s has ended; start another one", x.started.Child)
	case x.session == nil:
		return fmt.Errorf("agent %s is only beginning; try again", x.started.Child)
	}
	t, err := x.session.Submit(ctx, text, WithMode(mode), From("parent:"+x.keeper.parent.id))
	if err == nil {
		x.turns = append(x.turns, t)
	}
	return err
}

// follow waits for the end of each turn that it was sent something for, and
// returns how the last one ended. A child ends by its limits, or is interrupted.
func (x *child) follow() (cause *event.Cause) {
	for n := 0; ; n++ {
		x.mu.Lock()
		if n == len(x.turns) {
			x.closed = true
			x.mu.Unlock()
			return cause
		}
		t := x.turns[n]
		x.mu.Unlock()
		o, err := t.Wait(context.Background()) //nolint:contextcheck // the session ends it
		if o.Cause != nil {
			cause = o.Cause
		} else if held := (*HeldError)(nil); errors.As(err, &held) && cause == nil {
			cause = event.Abort(held.Reason, "host")
		}
	}
}

// interrupt ends what the child does. What it was not sent by then, it never is: no
// further model request comes of it.
func (x *child) interrupt(ctx context.Context, s *Session, why error) {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	cause := event.Abort(event.Shutdown, "host")
	_ = errors.As(why, &cause)
	cause = x.parental(cause)
	_, _ = s.actor.Interrupt(ctx, session.Request{By: cause.By, Reason: cause.Reason}) // it fails where the session is closed
}

// Status implements [task.Child].
func (x *child) Status() task.Status {
	x.mu.Lock()
	s, ended := x.session, x.ended
	x.mu.Unlock()
	out := task.Status{ChildStarted: x.started.ChildStarted, StartedAt: x.at, Ended: ended, Doing: "it is being opened", DoingSince: x.at}
	if s != nil {
		s.View(func(state event.State) { describe(state, &out) })
	}
	return out
}

// Done implements [task.Child].
func (x *child) Done() <-chan struct{} { return x.done }

// Send implements [task.Child].
func (x *child) Send(ctx context.Context, text string) error { return x.say(ctx, text, event.Steer) }

// Cancel implements [task.Child].
func (x *child) Cancel(cause *event.Cause) { x.cancel(cause) }

// Children implements [task.Spawner].
func (k *children) Children() []task.Child {
	var list []task.Child
	k.mu.Lock()
	defer k.mu.Unlock()
	k.parent.View(func(s event.State) {
		for _, c := range s.Children {
			if x := k.live[c.Child]; x != nil {
				list = append(list, x)
			} else {
				list = append(list, past{task.Status{ChildStarted: c.ChildStarted, StartedAt: c.At, Ended: c.Ended}})
			}
		}
	})
	return list
}

// past is a child that another process started: it has ended with that.
type past struct{ status task.Status }

// Status implements [task.Child].
func (p past) Status() task.Status { return p.status }

// Done implements [task.Child].
func (past) Done() <-chan struct{} { c := make(chan struct{}); close(c); return c }

// Send implements [task.Child].
func (p past) Send(context.Context, string) error {
	return fmt.Errorf("agent %s has ended; start another one", p.status.Child)
}

// Cancel implements [task.Child].
func (past) Cancel(*event.Cause) {}

// Cancel implements [session.Kin].
func (k *children) Cancel(cause *event.Cause) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, x := range k.live {
		x.cancel(cause)
	}
}

// Wait implements [session.Kin].
func (k *children) Wait(ctx context.Context) error {
	return k.await(ctx, func(x *child) <-chan struct{} { return x.done })
}

// Finish implements [session.Kin].
func (k *children) Finish(ctx context.Context) error {
	return k.await(ctx, func(x *child) <-chan struct{} { return x.left })
}

func (k *children) await(ctx context.Context, end func(*child) <-chan struct{}) error {
	k.mu.Lock()
	var running []*child
	for _, x := range k.live {
		running = append(running, x)
	}
	k.mu.Unlock()
	for _, x := range running {
		select {
		case <-end(x):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// panicked reports a defect of what the child calls.
func (x *child) panicked(err error) {
	scope.LogPanic(x.keeper.parent.logger, nil, "a child agent panicked", err, "child", x.started.Child)
}

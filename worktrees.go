package settle

import (
	"context"
	"errors"
	"time"

	"github.com/settle-agent/settle/event"
)

// plan is the worktree of a child that is to be started.
func (k *children) plan(ctx context.Context, session string) (*event.Worktree, error) {
	t := k.config.Tasks
	if t.Worktrees == nil || t.InDirectory == nil {
		return nil, errors.New("cannot give the agent a git worktree of its own: there are none in this session; leave worktree out")
	}
	w, err := t.Worktrees.Plan(ctx, k.config.WorkDir, session)
	return &w, err
}

// enter makes the child's worktree, if it is to have one, and returns how the child
// works in it.
func (x *child) enter(ctx context.Context, c SessionConfig) (SessionConfig, error) {
	w := x.started.Worktree
	if w == nil {
		return c, nil
	}
	if err := c.Tasks.Worktrees.Make(ctx, x.started.Session, *w); err != nil {
		return c, err
	}
	return c.Tasks.InDirectory(ctx, c, w.Dir)
}

// leaveTimeout bounds the end of a worktree, which may be large.
const leaveTimeout = 10 * time.Second

// leave says what becomes of the child's worktree; nil if it has none. Nothing works
// in it any more.
func (x *child) leave(ctx context.Context) *event.WorktreeLeft {
	if x.started.Worktree == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	left := x.keeper.config.Tasks.Worktrees.Leave(ctx, x.started.Session, *x.started.Worktree)
	return &left
}

// isHurried reports whether the child ends since its parent's turn or session does,
// which waits for its end, and not for what becomes of its worktree (C9).
func (x *child) isHurried(ctx context.Context) bool {
	var cause *event.Cause
	if ctx.Err() == nil || !errors.As(context.Cause(ctx), &cause) {
		return ctx.Err() != nil
	}
	return x.parental(cause).Reason == event.Parent
}

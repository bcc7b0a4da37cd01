package assemble

import (
	"context"
	"errors"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/agents"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/tool/task"
)

// worktrees returns the maker of child agents' git worktrees.
func (o Options) worktrees() task.Worktrees {
	switch {
	case o.Settings.Executor != "":
		return noWorktrees{"tools work on another machine"}
	case o.Keeping == Ephemeral || o.Settings.DataDir == "":
		return noWorktrees{"this session is not kept, so nothing would be answerable for it"}
	}
	return trusted{
		agents.Worktrees{Dir: agents.WorktreeDir(o.Settings.DataDir), Env: ownGitEnvironment(o.Environ)},
		o.Settings.Trust,
	}
}

// trusted makes worktrees only of trusted repositories.
type trusted struct {
	agents.Worktrees
	trust repo.Trust
}

// Plan implements [task.Worktrees].
func (t trusted) Plan(ctx context.Context, dir, session string) (event.Worktree, error) {
	if len(t.trust.Project(dir).Dirs) == 0 {
		return noWorktrees{
			"the directory belongs to another user, and git's safe.directory does not name it",
		}.Plan(ctx, dir, session)
	}
	return t.Worktrees.Plan(ctx, dir, session)
}

// noWorktrees refuses worktrees with the reason.
type noWorktrees struct{ why string }

// Plan implements [task.Worktrees].
func (n noWorktrees) Plan(context.Context, string, string) (event.Worktree, error) {
	return event.Worktree{}, errors.New("cannot give the agent a git worktree of its own: " + n.why)
}

// Make implements [task.Worktrees].
func (n noWorktrees) Make(context.Context, string, event.Worktree) error { return errors.New(n.why) }

// Held implements [task.Worktrees].
func (noWorktrees) Held(string, event.Worktree) bool { return false }

// Leave implements [task.Worktrees].
func (n noWorktrees) Leave(context.Context, string, event.Worktree) event.WorktreeLeft {
	return event.WorktreeLeft{Kept: true, Why: n.why}
}

// inDirectory configures a child agent in another directory than its parent's: with a
// prompt, tools and a judge for that directory, by the same rules.
func (o Options) inDirectory(ctx context.Context, c settle.SessionConfig, dir string) (settle.SessionConfig, error) {
	o.Dir, o.Model, o.below, o.Logger = dir, c.Model, true, nil
	a, err := New(ctx, o)
	if err != nil {
		return c, err
	}
	made := a.Session
	c.WorkDir, c.Toolbox, c.Judge, c.Confinement = made.WorkDir, made.Toolbox, made.Judge, made.Confinement
	c.System, c.Prompts = made.System, made.Prompts
	if c.Tasks != nil && made.Tasks != nil {
		tasks := *c.Tasks
		tasks.Model, tasks.Worktrees, tasks.InDirectory = made.Tasks.Model, made.Tasks.Worktrees, made.Tasks.InDirectory
		tasks.Judge = made.Tasks.Judge
		c.Tasks = &tasks
	}
	return c, nil
}

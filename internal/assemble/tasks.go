package assemble

import (
	"context"
	"errors"
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool/task"
)

// tasks returns the configuration of child agents; nil for none.
func (o *Options) tasks(names []string, c *confinement) *settle.Tasks {
	s := o.Settings.Tasks
	if !slices.Contains(names, task.Name) || s.Depth == 0 || s.AtOnce == 0 || s.PerSession == 0 {
		return nil
	}
	t := &settle.Tasks{
		MaxDepth: s.Depth, MaxRunning: s.AtOnce, MaxTotal: s.PerSession, Time: orOff(s.Timeout),
		AtEnd: o.AtEnd,
	}
	t.Worktrees, t.InDirectory = o.childWorktrees(), o.inDirectory
	if o.Resolve != nil {
		t.Model = o.childModel
	}
	t.Kinds, t.Judge = o.Kinds().Kinds, o.stricterJudge(c)
	return t
}

// childWorktrees returns the maker of the git worktrees of child agents.
func (o *Options) childWorktrees() task.Worktrees {
	return modeWorktrees{o.worktrees(), func() Mode { return o.mode(o.permission()) }}
}

// modeWorktrees makes no worktrees in modes that change nothing: a worktree adds a branch and files
// to the repository.
type modeWorktrees struct {
	task.Worktrees

	mode func() Mode
}

// Plan implements [task.Worktrees].
func (w modeWorktrees) Plan(ctx context.Context, dir, session string) (event.Worktree, error) {
	name := "read-only mode"
	switch m := w.mode(); {
	case m.Plan:
		name = "plan mode"
	case readsOnly(m):
	default:
		return w.Worktrees.Plan(ctx, dir, session)
	}
	return event.Worktree{}, errors.New("cannot give the agent a git worktree of its own: " + name + " changes " +
		"nothing, and a worktree adds a branch to the repository; start the agent without a worktree, and not as a " +
		"kind that always has one")
}

// childModel returns the model that a call names.
func (o *Options) childModel(ctx context.Context, name string) (model.Config, error) {
	settings := config.Merge(o.Given, map[string]string{"model": name}, o.provider())
	r, err := o.Resolve(o.Dir, settings)
	if err != nil {
		return model.Config{}, err
	}
	child := *o
	child.Settings, child.Model = r, model.Config{}
	a, err := New(ctx, child)
	if err != nil {
		return model.Config{}, err
	}
	m := a.Session.Model
	m.Secrets = slices.Concat(a.Session.Secrets, m.Secrets)
	return m, nil
}

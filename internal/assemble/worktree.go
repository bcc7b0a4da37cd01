package assemble

import (
	"context"
	"errors"
	"fmt"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/agents"
	"github.com/settle-agent/settle/internal/journal"
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
	if err := t.check(dir); err != nil {
		return event.Worktree{}, err
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

// RecordedWorktree returns the git worktree that the log of a session names; nil for none.
// An imported log proves nothing about this machine.
func RecordedWorktree(dataDir, session string) *event.Worktree {
	if dataDir == "" || session == "" {
		return nil
	}
	var first *event.Worktree
	for e, err := range journal.Read(context.Background(), dataDir, session, 0) {
		opened, ok := e.Data.(event.SessionOpened)
		if err != nil || !ok || opened.Imported || opened.Worktree == nil || opened.Worktree.From == "" {
			return nil
		}
		first = opened.Worktree
		break // most sessions have none, and only their first event is read
	}
	if first == nil {
		return nil
	}
	state, err := journal.Load(dataDir, session)
	if err != nil && state.Seq == 0 || state.HostSeq <= state.Imported {
		return nil
	}
	if w := state.Host.Worktree; w != nil && w.Path == first.Path { // its base can be a later commit
		return w
	}
	return lastWorktree(dataDir, session, first)
}

// lastWorktree returns the worktree as the last host of the session knew it that worked in it. The
// hosts since then did not: the session continued with --cwd, or a held call was denied.
func lastWorktree(dataDir, session string, first *event.Worktree) *event.Worktree {
	last := first
	for e, err := range journal.Read(context.Background(), dataDir, session, 0) {
		if err != nil {
			break // the state of the session ends here, too
		}
		opened, ok := e.Data.(event.SessionOpened)
		if ok && !opened.Imported && opened.Worktree != nil && opened.Worktree.Path == first.Path {
			last = opened.Worktree
		}
	}
	return last
}

// InWorktree returns the options of a session's agent in the session's own git worktree: in
// the recorded one, or in a new one if name is not nil. tree is nil if the session has none.
func (o Options) InWorktree(
	ctx context.Context, session string, recorded *event.Worktree, name *string,
) (in Options, tree *agents.SessionTree, err error) {
	if recorded == nil && name == nil {
		return o, nil, nil
	}
	made := o.worktrees()
	k, ok := made.(trusted)
	switch {
	case !ok:
		none, _ := made.(noWorktrees)
		return o, nil, errors.New("cannot use a git worktree: " + none.why)
	case recorded != nil:
		tree, err = k.reopen(ctx, *recorded)
	default:
		tree, err = k.begin(ctx, o.Dir, session, *name)
	}
	if err != nil {
		return o, nil, err
	}
	o.Dir = tree.Worktree.Dir
	MarkWorkDir(o.Settings, o.Dir, o.Getenv)
	return o, tree, nil
}

// NewInWorktree builds the agent of a session, in the session's own git worktree if it has one: the
// recorded one, or a new one if name is not nil. A caller that does not open the session must call
// Leave of the worktree.
func (o Options) NewInWorktree(
	ctx context.Context, session string, recorded *event.Worktree, name *string,
) (*Agent, error) {
	o, tree, err := o.InWorktree(ctx, session, recorded, name)
	if err != nil {
		return nil, err
	}
	a, err := New(ctx, o)
	if tree == nil {
		return a, err
	}
	if err != nil {
		tree.Leave(context.WithoutCancel(ctx))
		return nil, err
	}
	a.WorkIn(tree)
	return a, nil
}

// WorkIn has the agent's session work in a git worktree.
func (a *Agent) WorkIn(tree *agents.SessionTree) {
	if tree == nil {
		return
	}
	a.Session.Worktree = &settle.Worktree{Worktree: tree.Worktree, Leave: tree.Leave, Keep: tree.Keep}
	note := fmt.Sprintf("the session works in the git worktree %s, branch %s", tree.Worktree.Path, tree.Worktree.Branch)
	if tree.Note != "" {
		note += "; " + tree.Note
	}
	a.note(note)
	a.Session.Notes = append(a.Session.Notes, note)
}

// begin makes a worktree of a trusted repository.
func (t trusted) begin(ctx context.Context, dir, session, name string) (*agents.SessionTree, error) {
	if err := t.check(dir); err != nil {
		return nil, err
	}
	return t.Begin(ctx, dir, session, name)
}

// reopen opens a worktree of a trusted repository.
func (t trusted) reopen(ctx context.Context, w event.Worktree) (*agents.SessionTree, error) {
	if err := t.check(w.From); err != nil {
		return nil, err
	}
	return t.Reopen(ctx, w)
}

// check refuses directories of other users.
func (t trusted) check(dir string) error {
	if len(t.trust.Project(dir).Dirs) > 0 {
		return nil
	}
	return errors.New(
		"cannot use a git worktree: the directory belongs to another user, and git's safe.directory does not name it",
	)
}

// inDirectory configures a child agent in another directory than its parent's: with a
// prompt, tools and a judge for that directory, by the same rules.
func (o *Options) inDirectory(ctx context.Context, c settle.SessionConfig, dir string) (settle.SessionConfig, error) {
	child := *o
	child.Dir, child.Model, child.below, child.Logger = dir, c.Model, true, nil
	a, err := New(ctx, child)
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

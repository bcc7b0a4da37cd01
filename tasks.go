package settle

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/agents"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool/mcp"
	"github.com/settle-agent/settle/tool/task"
)

// Tasks lets the model of a session start child agents, each in its own session in the same
// host. A child has its parent's directory, tools, rules and limits, unless the call restricts
// them. Its calls that need approval go to the parent's approver.
type Tasks struct {
	// MaxDepth bounds the generations of children, MaxRunning the running children of one
	// session, and MaxTotal the children that one session may start; 0 means 2, 8 and 32.
	MaxDepth, MaxRunning, MaxTotal int
	// Time bounds each turn of a child; 0 means one hour, negative no limit.
	Time time.Duration
	// AtEnd selects what happens to background children when the model of a turn has finished;
	// "" means KeepTasks.
	AtEnd AtEnd
	// Model returns the model that a call names. Without it, children have their parent's
	// model.
	Model func(ctx context.Context, name string) (model.Config, error)
	// Kinds are the kinds of children that a call can choose. A kind only restricts.
	Kinds []task.Kind
	// Judge, if set, makes the judge of a child whose kind has a stricter permission than its
	// parent. Without it, the permission alone decides.
	Judge func(stricter Permission) (Judge, error)
	// Worktrees, if set, makes the git worktrees of children. InDirectory changes the
	// configuration of a child that has one: it receives the parent's configuration and the
	// directory, and returns a configuration whose tools and Judge are for that directory.
	// Unless both are set, there are no worktrees.
	Worktrees   task.Worktrees
	InDirectory func(ctx context.Context, c SessionConfig, dir string) (SessionConfig, error)
	// Configure, if set, changes the configuration of a child's session before it is opened.
	Configure func(SessionConfig) SessionConfig

	plain *systemPrompt // without a kind's prompt; nil if the prompt has none
}

// systemPrompt is the system prompt of a session, for all models.
type systemPrompt struct {
	text    string
	prompts func(name string) string
}

// with returns the prompt with a kind's instructions at the end.
func (p systemPrompt) with(k *task.Kind) systemPrompt {
	role := "\n\n# Your part\n\nYou are the agent " + k.Name() + ", which another agent started. " +
		"Follow these instructions where they do not contradict the user's.\n\n" + k.Prompt
	out := systemPrompt{text: p.text + role}
	if p.prompts != nil {
		out.prompts = func(name string) string {
			if text := p.prompts(name); text != "" {
				return text + role
			}
			return ""
		}
	}
	return out
}

// AtEnd selects what happens to background children at the end of a turn.
type AtEnd string

// The values of AtEnd.
const (
	KeepTasks  AtEnd = ""      // they continue; the next turn receives their results
	AwaitTasks AtEnd = "await" // the turn continues until they have ended
)

const (
	defaultDepth   = 2
	defaultRunning = 8
	defaultTotal   = 32
	defaultTime    = time.Hour
)

func (t *Tasks) completed() *Tasks {
	if t == nil {
		return nil
	}
	c := *t
	t = &c
	set := func(n *int, to int) {
		if *n == 0 {
			*n = to
		}
	}
	set(&t.MaxDepth, defaultDepth)
	set(&t.MaxRunning, defaultRunning)
	set(&t.MaxTotal, defaultTotal)
	if t.Time == 0 {
		t.Time = defaultTime
	}
	return t
}

// origin is the origin of a child agent's session.
type origin struct {
	agents.Origin

	parent *Session
	depth  int // 1 for the child of a session that is no child
	// permission is the strictest permission of the kinds of the child and its parents; ""
	// for none.
	permission Permission
	// kinds are the kinds of the child and its parents, which bound its tools.
	kinds []*task.Kind
}

// restrict sets the restrictions of a child of the session.
func (o *origin) restrict(parent *Session) {
	if from := parent.origin; from != nil {
		o.permission, o.kinds = from.permission, from.kinds
	}
	k := o.Order.Kind
	if k == nil {
		return
	}
	o.kinds = append(slices.Clone(o.kinds), k)
	if k.Permission != "" && k.Permission != Allow {
		o.permission = k.Permission.Stricter(cmp.Or(o.permission, k.Permission))
	}
}

// offered returns the tools that a child has of a list: at most the tools of its parent.
func (o *origin) offered(names []string) []string {
	for from := o; from != nil; from = from.parent.origin {
		if chosen := from.Order.Tools; chosen != nil {
			names = slices.DeleteFunc(
				slices.Clone(names), func(name string) bool { return !slices.Contains(chosen, name) },
			)
		}
	}
	for _, k := range o.kinds {
		names = k.Allowed(names)
	}
	return names
}

// isRestricted reports whether a child has fewer tools than the session of its host.
func (o *origin) isRestricted() bool {
	return o.isChosen() || slices.ContainsFunc(o.kinds, func(k *task.Kind) bool { return k.Without != nil })
}

// isChosen reports whether calls or kinds name the tools of a child.
func (o *origin) isChosen() bool {
	for from := o; from != nil; from = from.parent.origin {
		if from.Order.Tools != nil {
			return true
		}
	}
	return slices.ContainsFunc(o.kinds, func(k *task.Kind) bool { return k.Tools != nil })
}

// refuse refuses calls of a tool that the kinds take away, through a tool that calls others.
func (o *origin) refuse(name string, args json.RawMessage) error {
	inner, ok := mcp.Unwrap(name, string(args))
	if !ok {
		return nil
	}
	for _, k := range o.kinds {
		if k.Removes(inner.Name) {
			return fmt.Errorf("cannot call %q: agents of the kind %s do not have this tool", inner.Name, k.Name())
		}
	}
	return nil
}

// spawner returns the Spawner of the session's child agents; nil if it may have none.
func (s *Session) spawner(c SessionConfig, log *journal.Log) *agents.Spawner {
	depth := 0
	if s.origin != nil {
		depth = s.origin.depth
	}
	if c.Tasks == nil || depth >= c.Tasks.MaxDepth {
		return nil
	}
	config := agents.Config{
		Record: session.Children{
			Log: log, Redact: s.redact, MaxRunning: c.Tasks.MaxRunning, MaxTotal: c.Tasks.MaxTotal,
		},
		Dir: c.WorkDir, DataDir: s.host.config.DataDir, Logger: s.logger,
		Prepare: func(ctx context.Context, o task.Order) (agents.Prepared, error) {
			child, err := s.childConfig(ctx, c, o)
			return agents.Prepared{
				Model: child.Model.Name, InMemory: child.Ephemeral || s.host.config.DataDir == "",
				Open: func(ctx context.Context, from agents.Origin) (agents.Session, error) {
					return s.openChild(ctx, child, &origin{parent: s, Origin: from, depth: depth + 1})
				},
			}, err
		},
	}
	if c.Tasks.InDirectory != nil {
		config.Worktrees = c.Tasks.Worktrees
	}
	return agents.NewSpawner(config)
}

// childConfig returns the configuration of a child agent: its parent's, with the
// order's model and stricter limits.
func (s *Session) childConfig(ctx context.Context, c SessionConfig, o task.Order) (SessionConfig, error) {
	c.Model = s.Model()
	if plain := c.Tasks.plain; plain != nil { // the prompt of the parent's kind is not the child's
		c.System, c.Prompts = plain.text, plain.prompts
	}
	if o.Model != "" && o.Model != c.Model.Name {
		if c.Tasks.Model == nil {
			return c, fmt.Errorf("cannot start an agent with the model %q: this session has only %q; leave model out",
				o.Model, c.Model.Name)
		}
		m, err := c.Tasks.Model(ctx, o.Model)
		if err != nil {
			return c, fmt.Errorf("cannot start an agent with the model %q: %w", o.Model, err)
		}
		c.Model = m
	}
	var budget task.Budget
	if o.Kind != nil {
		budget = o.Kind.Budget
	}
	c.Limits.Steps = least(c.Limits.Steps, o.Steps, budget.Steps)
	c.Limits.Time = least(c.Limits.Time, c.Tasks.Time, o.Time, budget.Time)
	c.Limits.Tokens, c.Limits.Cost = least(c.Limits.Tokens, budget.Tokens), least(c.Limits.Cost, budget.Cost)
	// A child ends before its parent's call is abandoned.
	c.InterruptGrace = cmp.Or(c.InterruptGrace, 250*time.Millisecond) * 3 / 5
	tasks := *c.Tasks
	tasks.AtEnd = AwaitTasks
	c.Tasks = &tasks
	c.MustExist, c.Take, c.LockTimeout, c.Value, c.Worktree = false, false, 0, nil, nil
	if c.Tasks.Configure != nil {
		c = c.Tasks.Configure(c)
	}
	return c, nil
}

// least returns the smallest limit; limits that are not positive do not count.
func least[N int | int64 | float64 | time.Duration](limit N, more ...N) N {
	for _, n := range more {
		if n > 0 && (limit <= 0 || n < limit) {
			limit = n
		}
	}
	return limit
}

// openChild opens the session of a child agent, in its worktree if it has one.
func (s *Session) openChild(ctx context.Context, c SessionConfig, from *origin) (_ agents.Session, err error) {
	if w := from.Start.Worktree; w != nil {
		if c, err = c.Tasks.InDirectory(ctx, c, w.Dir); err != nil {
			return nil, err
		}
	}
	if from.restrict(s); from.permission != "" {
		if c.Tasks == nil || c.Tasks.Judge == nil { // Tasks.Judge knows the parent's permission, which can change
			from.permission = from.permission.Stricter(cmp.Or(c.Permission, Ask))
		}
		c.Permission = from.permission
	}
	if k := from.Order.Kind; k != nil {
		tasks := *c.Tasks
		tasks.plain = &systemPrompt{c.System, c.Prompts}
		with := tasks.plain.with(k)
		c.System, c.Prompts, c.Tasks = with.text, with.prompts, &tasks
	}
	opened, err := s.host.session(ctx, from.Start.Session, c, from)
	if err != nil {
		return nil, err
	}
	return childSession{opened}, nil
}

// childSession adapts a session to [agents.Session].
type childSession struct{ *Session }

// Actor implements [agents.Session].
func (c childSession) Actor() *session.Session { return c.actor }

// Send implements [agents.Session].
func (c childSession) Send(
	ctx context.Context, text string, mode event.Mode,
) (agents.Wait, error) {
	t, err := c.Submit(ctx, text, WithMode(mode), From("parent:"+c.origin.parent.id))
	return func() (*event.Cause, event.Reason) {
		o, err := t.Wait(context.Background()) // the session ends it
		if held := (*HeldError)(nil); errors.As(err, &held) {
			return o.Cause, held.Reason
		}
		return o.Cause, ""
	}, err
}

// orphans returns the recovery of child agents whose host died.
func (s *Session) orphans(c SessionConfig) agents.Orphans {
	o := agents.Orphans{DataDir: s.host.config.DataDir, Redact: s.redact}
	if c.Tasks != nil {
		o.Worktrees = c.Tasks.Worktrees
	}
	return o
}

// ChildEvents yields the events of a child agent's session from the first one on, as
// they arrive, until the child has ended or ctx ends. Child is the child's id in this
// session. For a child that another process started, it yields no events.
func (s *Session) ChildEvents(ctx context.Context, child string) iter.Seq2[event.Event, error] {
	if s.agents == nil {
		return func(func(event.Event, error) bool) {}
	}
	return s.agents.Events(ctx, child)
}

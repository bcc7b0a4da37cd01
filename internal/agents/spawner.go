package agents

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/tool/task"
)

// Config configures the child agents of one session, the parent.
type Config struct {
	// Record writes the starts and endings of child agents into the parent's log.
	Record session.Children
	// Dir is the parent's working directory, absolute.
	Dir string
	// DataDir is the data directory that has the logs of the child agents.
	DataDir string
	// Worktrees makes the git worktrees of child agents; nil refuses worktrees.
	Worktrees task.Worktrees
	// Prepare decides how a child agent works, before the log has its start.
	Prepare func(ctx context.Context, o task.Order) (Prepared, error)
	Logger  *slog.Logger
}

// Prepared is a child agent whose session can be opened.
type Prepared struct {
	// Model is the name of its model.
	Model string
	// InMemory means that its log is not in DataDir.
	InMemory bool
	// Open opens the child's session. The worktree of the child, if any, exists.
	Open func(ctx context.Context, o Origin) (Session, error)
}

// Origin describes to the child's session where it comes from.
type Origin struct {
	Order task.Order
	Start session.StartedChild
	// Meter is the meter of the turn that started the child.
	Meter *turn.Meter
	// Abort ends the child on behalf of a client.
	Abort func(by string)
}

// Session is the open session of a child agent.
type Session interface {
	// Actor returns the session's actor.
	Actor() *session.Session
	// Send submits an input from the parent.
	Send(ctx context.Context, text string, mode event.Mode) (Wait, error)
	// CloseFor closes the session.
	CloseFor(ctx context.Context, reason event.Reason, by string) error
}

// Wait waits for the end of an input's turn. It returns the cause of the end, or the reason
// why the input is held.
type Wait func() (cause *event.Cause, held event.Reason)

// Spawner starts the child agents of one session. It implements [task.Spawner] and
// [session.ChildAgents].
//
// Lock order: the parent's locks come before the child's. No lock is held while a log
// is written, except that log's own: a child writes into its parent's log.
type Spawner struct {
	config Config

	mu       sync.Mutex // guards the fields below
	children map[string]*child
	starting int           // number of calls of Spawn whose child may be in the log, and not in children
	started  chan struct{} // closed and replaced when starting decreases
}

// NewSpawner returns a Spawner without running child agents.
func NewSpawner(c Config) *Spawner {
	return &Spawner{config: c, children: map[string]*child{}, started: make(chan struct{})}
}

// Spawn implements [task.Spawner].
func (s *Spawner) Spawn(ctx context.Context, o task.Order) (task.Child, error) {
	prepared, err := s.config.Prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	start := event.ChildStarted{Session: session.NewID(), Title: o.Title, Model: prepared.Model}
	if o.Kind != nil {
		start.Agent = &o.Kind.Source
	}
	if o.Worktree {
		if start.Worktree, err = s.planWorktree(ctx, start.Session); err != nil {
			return nil, err
		}
	}
	defer s.begin()()
	recorded, err := s.config.Record.ChildStarted(ctx, session.ChildCall{Item: o.Call, Background: o.Background}, start)
	if err != nil {
		return nil, err
	}
	life := ctx
	if o.Background {
		life = context.WithoutCancel(ctx)
	}
	life, cancel := context.WithCancelCause(life)
	c := &child{
		config: s.config, order: o, start: recorded, at: time.Now(), cancel: cancel,
		opened: make(chan struct{}), done: make(chan struct{}), finished: make(chan struct{}),
	}
	s.mu.Lock()
	s.children[recorded.Child] = c
	s.mu.Unlock()
	if ctx.Err() != nil { // Cancel may have been called before the child was in the map
		cancel(context.Cause(ctx))
	}
	// Ends with the child, which ends soon after life; Wait waits for it.
	go scope.Shield(c.panicked, func() {
		defer cancel(nil)
		c.run(life, prepared)
	})()
	return c, nil
}

// begin announces a child that can be in the log before it is in children. The returned
// function is called when it is in both or in neither.
func (s *Spawner) begin() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.starting--
		close(s.started)
		s.started = make(chan struct{})
	}
}

// find returns a child, or nil. It waits for children that are starting.
func (s *Spawner) find(ctx context.Context, id string) *child {
	for {
		s.mu.Lock()
		c, starting, started := s.children[id], s.starting, s.started
		s.mu.Unlock()
		if c != nil || starting == 0 {
			return c
		}
		select {
		case <-started: // the parent's log bounds the start
		case <-ctx.Done():
			return nil
		}
	}
}

// planWorktree returns the worktree of a child that starts.
func (s *Spawner) planWorktree(ctx context.Context, session string) (*event.Worktree, error) {
	if s.config.Worktrees == nil {
		return nil, errors.New(
			"cannot give the agent a git worktree of its own: this session has no worktrees; leave worktree out",
		)
	}
	w, err := s.config.Worktrees.Plan(ctx, s.config.Dir, session)
	return &w, err
}

// Children implements [task.Spawner].
func (s *Spawner) Children() []task.Child {
	var list []task.Child
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config.Record.Log.View(func(state event.State) {
		for _, c := range state.Children {
			if own := s.children[c.Child]; own != nil {
				list = append(list, own)
			} else {
				list = append(list, ended{task.Status{ChildStarted: c.ChildStarted, StartedAt: c.At, Ended: c.Ended}})
			}
		}
	})
	return list
}

// Events yields the events of a child's session from the first one on, as they
// arrive, until the child has ended or ctx ends. For a child that another process
// started, it yields no events.
func (s *Spawner) Events(ctx context.Context, id string) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		c := s.find(ctx, id)
		if c == nil {
			return
		}
		select {
		case <-c.opened:
		case <-ctx.Done():
			return
		}
		for e, err := range c.events(ctx) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// Cancel implements [session.ChildAgents].
func (s *Spawner) Cancel(cause *event.Cause) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.children {
		c.cancel(cause)
	}
}

// Wait implements [session.ChildAgents].
func (s *Spawner) Wait(ctx context.Context) error {
	return s.await(ctx, func(c *child) <-chan struct{} { return c.done })
}

// Finish implements [session.ChildAgents].
func (s *Spawner) Finish(ctx context.Context) error {
	return s.await(ctx, func(c *child) <-chan struct{} { return c.finished })
}

func (s *Spawner) await(ctx context.Context, end func(*child) <-chan struct{}) error {
	s.mu.Lock()
	var running []*child
	for _, c := range s.children {
		running = append(running, c)
	}
	s.mu.Unlock()
	for _, c := range running {
		select {
		case <-end(c):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// ended is a child that another process started: it ended with that process.
type ended struct{ status task.Status }

// Status implements [task.Child].
func (e ended) Status() task.Status { return e.status }

// Done implements [task.Child].
func (ended) Done() <-chan struct{} { c := make(chan struct{}); close(c); return c }

// Send implements [task.Child].
func (e ended) Send(context.Context, string) error { return endedError(e.status.Child) }

// Cancel implements [task.Child].
func (ended) Cancel(*event.Cause) {}

// endedError refuses a message to a child that has ended.
func endedError(child string) error {
	return fmt.Errorf("agent %s has ended; start another one", child)
}

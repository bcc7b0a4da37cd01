package task

import (
	"context"
	"time"

	"github.com/settle-agent/settle/event"
)

// Spawner starts the child agents of one session, and lists them.
type Spawner interface {
	// Spawn starts a child. When it returns, the start is durable. The end of ctx ends a
	// foreground child.
	Spawn(ctx context.Context, o Order) (Child, error)
	// Children returns the session's children, including children of earlier processes.
	Children() []Child
}

// Child is a child agent. Its methods are safe for concurrent use.
type Child interface {
	Status() Status
	// Done is closed when the child's end is recorded.
	Done() <-chan struct{}
	// Send sends a message, which the child reads before its next step.
	Send(ctx context.Context, text string) error
	// Cancel ends it, and does not wait for the end.
	Cancel(cause *event.Cause)
}

// Order describes a child to start.
type Order struct {
	// Call is the id of the call that starts it.
	Call   string
	Title  string
	Prompt string
	// Kind is the kind of the child; nil for a child like its parent.
	Kind *Kind
	// Model is another model than the parent's; "" for the parent's.
	Model string
	// Tools are the parent's tools that the child gets; nil for all.
	Tools []string
	// Background lets it continue after the call, for the session.
	Background bool
	// Worktree gives it a git worktree of its own.
	Worktree bool
	// Steps and Time bound each of its turns; 0 for the parent's limits.
	Steps int
	Time  time.Duration
}

// Status is the state of a child.
type Status struct {
	event.ChildStarted
	StartedAt time.Time
	// Ended is its end; nil while it runs.
	Ended *event.ChildEnded
	// Doing describes its current action in one line, DoingSince is the start of that
	// action, and Progress the time of the last change.
	Doing                string
	DoingSince, Progress time.Time
	Steps, Calls         int
}

// Worktrees makes the git worktrees of child agents. A worktree belongs to the child's
// session.
type Worktrees interface {
	// Plan returns the worktree for a child whose parent works in dir, and changes nothing.
	Plan(ctx context.Context, dir, session string) (event.Worktree, error)
	// Make makes the planned worktree.
	Make(ctx context.Context, session string, w event.Worktree) error
	// Held reports whether settle made the worktree and has not left it yet.
	Held(session string, w event.Worktree) bool
	// Leave removes a held worktree in which nothing has changed. It keeps any other.
	Leave(ctx context.Context, session string, w event.Worktree) event.WorktreeLeft
}

package task

import (
	"context"
	"time"

	"github.com/settle-agent/settle/event"
)

// Spawner starts the child agents of one session, and knows them.
type Spawner interface {
	// Spawn starts a child. When it returns, the start is durable; the child is
	// ended when ctx ends, if it runs in the foreground.
	Spawn(ctx context.Context, o Order) (Child, error)
	// Children are those of the session, also those of earlier processes.
	Children() []Child
}

// Child is a child agent. Its methods may be called by several goroutines.
type Child interface {
	Status() Status
	// Done is closed when the child's end is recorded.
	Done() <-chan struct{}
	// Send sends it a message, which joins what it does.
	Send(ctx context.Context, text string) error
	// Cancel ends it. It does not wait for that.
	Cancel(cause *event.Cause)
}

// Order is what a child is to do.
type Order struct {
	// Call is the id of the call that starts it.
	Call   string
	Title  string
	Prompt string
	// Model names another model than the parent's; "" for that.
	Model string
	// Tools are those of the parent's that it gets; nil for all.
	Tools []string
	// Background has it go on after the call, for the session.
	Background bool
	// Worktree has it work in a git worktree of its own.
	Worktree bool
	// Steps and Time bound each of its turns; 0 leaves what the parent has.
	Steps int
	Time  time.Duration
}

// Status is how far a child is.
type Status struct {
	event.ChildStarted
	StartedAt time.Time
	// Ended is how it ended; nil while it runs.
	Ended *event.ChildEnded
	// Doing is what it does, in one line, and DoingSince since when; Progress is
	// when anything of it last changed.
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

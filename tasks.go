package settle

import (
	"context"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool/task"
)

// Tasks lets the model of a session start child agents, each in a session of its
// own in the same host. A child works as its parent does: in the same directory,
// with the same tools, rules and limits, but where the call says less. What needs
// approval in a child is asked of whoever is asked in its parent.
type Tasks struct {
	// MaxDepth is how many generations of children there may be, MaxRunning how many
	// children of one session at once, and MaxTotal how many it may start; 0
	// means 2, 8 and 32.
	MaxDepth, MaxRunning, MaxTotal int
	// Time bounds each turn of a child; 0 means an hour, negative no limit.
	Time time.Duration
	// AtEnd says what becomes of children in the background when the model of a turn
	// has finished; "" means KeepTasks.
	AtEnd AtEnd
	// Model returns the model that a call names; without it, children have that of
	// their parent.
	Model func(ctx context.Context, name string) (model.Config, error)
	// Worktrees, if set, makes the git worktrees of children that are to have their
	// own. InDirectory changes how such a child works: it is given its parent's
	// configuration and the directory, and returns one whose tools and Judge are for
	// that. Without either, there are no worktrees.
	Worktrees   Worktrees
	InDirectory func(ctx context.Context, c SessionConfig, dir string) (SessionConfig, error)
	// Configure, if set, changes how a child's session works before it is opened.
	Configure func(SessionConfig) SessionConfig
}

// Worktrees makes git worktrees for child agents, which are named by their sessions.
type Worktrees interface {
	// Plan says which worktree the child of a parent in dir gets. It makes nothing.
	Plan(ctx context.Context, dir, session string) (event.Worktree, error)
	Make(ctx context.Context, session string, w event.Worktree) error
	// Held reports whether it made the worktree and has not left it. Leave removes it
	// if nothing in it has changed, and touches none that is not held.
	Held(session string, w event.Worktree) bool
	Leave(ctx context.Context, session string, w event.Worktree) event.WorktreeLeft
}

// AtEnd says what becomes of background children at the end of a turn.
type AtEnd string

// The values.
const (
	KeepTasks  AtEnd = ""      // they go on; the next turn is told of their ends
	AwaitTasks AtEnd = "await" // the turn goes on until they have ended
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

// origin is where a session comes from that is a child.
type origin struct {
	parent *Session
	order  task.Order
	birth  birth
	depth  int
	meter  *turn.Meter // of the turn that started it
	abort  func(by string)
}

// birth is the child as its parent's log names it.
type birth struct{ child, session, turn, call string }

// kin returns what starts the session's children; nil where there may be none.
func (s *Session) kin(c SessionConfig, log *journal.Log) *children {
	depth := 0
	if s.from != nil {
		depth = s.from.depth
	}
	if c.Tasks == nil || depth >= c.Tasks.MaxDepth {
		return nil
	}
	return &children{
		parent: s, config: c, depth: depth, live: map[string]*child{},
		record: session.Children{Log: log, Redact: s.redact, MaxRunning: c.Tasks.MaxRunning, MaxTotal: c.Tasks.MaxTotal},
	}
}

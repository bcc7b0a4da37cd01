package tui

import (
	"context"
	"iter"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
)

// Sessions opens and closes sessions.
type Sessions interface {
	// Open opens the session, which "" makes.
	Open(ctx context.Context, id string) (Conversation, error)
	// Close ends the session and its work.
	Close(ctx context.Context, c Conversation, reason event.Reason, by string) error
	// Resolve returns the session with a name: its ID, the beginning of its ID, or "" for
	// the directory's last session.
	Resolve(ctx context.Context, name string) (id string, err error)
	// Fork copies the finished part of a session to a new session.
	Fork(ctx context.Context, id string) (fork string, err error)
	// Rename has a session be called by a name.
	Rename(ctx context.Context, id, name string) error
	// List returns the sessions of the directory that have an input or a name, the last one first.
	List(ctx context.Context) ([]Listed, error)
}

// Listed is a session that could be opened.
type Listed struct {
	ID, Title string
	Updated   time.Time
	// Host is another process that has it open, such as "pid 4711 (serve)".
	Host string
	Held int // calls that wait for a verdict
}

// NotedConversation has a note for the person that is no event of the session.
type NotedConversation interface{ Note() string }

// noteOf is the note of a conversation; empty for none.
func noteOf(c Conversation) string {
	if n, ok := c.(NotedConversation); ok {
		return n.Note()
	}
	return ""
}

// Conversation is an open session.
type Conversation interface {
	ID() string
	State() event.State
	Events(ctx context.Context, cursor uint64) iter.Seq2[event.Event, error]
	Submit(ctx context.Context, text string, options ...settle.InputOption) (*settle.Turn, error)
	Interrupt(ctx context.Context, i settle.Interruption) (settle.Outcome, error)
	Answer(ctx context.Context, a settle.Answer) error
	Drop(input, by string) (bool, error)
	KillJob(ctx context.Context, job string) error
	Compact(ctx context.Context, by string) (settle.Compacted, error)

	// Model is the model of the next turn, and Window how many tokens it takes,
	// 0 if that is unknown.
	Model() string
	Window() int
	// Effort is the reasoning effort; empty for the model's default.
	Effort() string
	// Choose has later turns work with another "model" or "effort".
	Choose(ctx context.Context, setting, value string) error
	// Mode is the permission mode: "ask", "accept-edits", "review", "read-only", "plan" or "allow".
	Mode() string
	SetMode(ctx context.Context, name string) error
}

package settle

import (
	"log/slog"
	"time"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool"
)

// Config is what the sessions of a [Host] have in common. The zero value is
// ready.
type Config struct {
	// DataDir is the directory for logs, absolute; "" keeps them in memory.
	DataDir string
	// Secrets are values that must never appear in an event of any session;
	// those shorter than 16 characters are left alone.
	Secrets []string
	// Releasable has the host listen at a socket in DataDir, where other
	// processes may ask it to release a session (--take). Without it, who wants
	// a session of the host is told to end the program.
	Releasable bool
	// Face names the way in, in the log; "" means "library".
	Face string
	// Version is that of the program, in the log.
	Version string
	// Logger takes what no event says; nil discards it.
	Logger *slog.Logger
	// Observer is told what starts and ends in turns.
	Observer Observer
}

// SessionConfig is how one session works. Model must be set.
type SessionConfig struct {
	// Model is what its turns ask, until [Session.SetModel].
	Model model.Config
	// WorkDir is the directory that tools work in, absolute; "" means ".".
	WorkDir string
	// System is the system prompt.
	System string
	// Tools are what the model may call.
	Tools []tool.Tool
	// Toolbox, if set, makes further tools, which may have processes or files
	// of their own.
	Toolbox func(SessionInfo) (Toolbox, error)

	// Permission is the policy for calls that could change something, unless
	// Judge, made when the session is opened, says more. Where a call is to be
	// asked about, Approver is; without one, [Session.Answer] if the session is
	// Attended; else it is denied, and [Outcome.Denied] says so.
	Permission Permission
	Judge      func() (Judge, error)
	Approver   Approver
	Attended   bool

	Limits Limits
	Retry  Retry
	// InterruptGrace is how long calls have to stop when their turn is
	// interrupted; 0 means 250 ms.
	InterruptGrace time.Duration

	// Ephemeral keeps the log in memory, also where the host has a DataDir.
	Ephemeral bool
	// LockTimeout is how long to wait for another process that holds the
	// session; 0 does not wait. One that is stopped is not waited for.
	LockTimeout time.Duration
	// Take ends the other process that holds the session, unless it releases
	// the session.
	Take bool

	// Secrets are values that must never appear in an event of the session,
	// beside those of the host and of the model.
	Secrets []string
	// Notes are what a person should know who looks at the log.
	Notes []string
	// Logger, if set, stands for the host's.
	Logger *slog.Logger
	// Value is the program's own; [Session.Value] returns it.
	Value any
}

package settle

import (
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/hooks"
	"github.com/settle-agent/settle/internal/journal"
)

// Hook is a command that is run on an occasion of a session, in the form of Claude
// Code: it reads JSON, and its exit code and what it prints say what is to happen. See
// docs/hooks.md. A gate (see [event.HookEvent]) that fails denies.
type Hook struct {
	Event event.HookEvent
	// Matcher says which tools, triggers or sources are meant; "" is all.
	Matcher string
	// Command is for the shell; with Args, it is a program that is started with them.
	Command string
	Args    []string
	// Timeout is how long it has; 0 means 10 s.
	Timeout time.Duration
	// Source says where it is configured, for people.
	Source string
	// Dir is the project that it belongs to, absolute, in which it runs; "" is the
	// session's directory.
	Dir string
	// Own says that its word allows a call that somebody would be asked about. What
	// is denied stays denied.
	Own bool
	// Broken, if set, says why it cannot be run: it fails each time.
	Broken string
	// Check, if set, is called before each run. With an error, the hook does not run, and
	// fails.
	Check func() error
}

// Hooks are the hooks of a session and of its child agents.
type Hooks struct {
	List []Hook
	// Env is the environment of their commands, nothing if it is empty.
	Env []string
	// Project is what hooks without a Dir are told as CLAUDE_PROJECT_DIR; "" is the
	// session's directory.
	Project string
}

// hooks returns those of the session; nil if there are none.
func (s *Session) hooks(c SessionConfig, log *journal.Log) *hooks.Set {
	if c.Hooks == nil {
		return nil
	}
	list := make([]hooks.Hook, 0, len(c.Hooks.List))
	for _, h := range c.Hooks.List {
		list = append(list, hooks.Hook(h))
	}
	made := hooks.Config{
		Hooks: list, Log: log, Dir: c.WorkDir, Project: c.Hooks.Project, Permission: c.Permission, Model: c.Model.Name,
		Child: s.from != nil, Redact: s.redact, Logger: c.Logger,
		Runner: hooks.Processes{Env: c.Hooks.Env, Marker: Store{Dir: s.host.config.DataDir}.Marker(s.id), Lock: log.LockFile()},
	}
	if lock := log.LockFile(); lock != nil {
		made.Transcript = lock.Name()
	}
	return hooks.New(made)
}

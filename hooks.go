package settle

import (
	"context"

	"github.com/settle-agent/settle/internal/hooks"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/proc"
)

// Hooks are the hooks of a session and its child agents.
type Hooks struct {
	List []Hook
	// Env is the environment of the hooks' commands; empty means no variables.
	Env []string
	// Project is the value of CLAUDE_PROJECT_DIR for hooks without a Dir; "" means the
	// session's directory.
	Project string

	start hookStarter // of a project's hooks; nil starts them like the user's own
}

// hookStarter starts the command of a hook.
type hookStarter = func(ctx context.Context, spec proc.Spec) (*proc.Process, error)

// Confined returns the hooks with a function that starts a project's hooks in a sandbox.
func (h Hooks) Confined(start hookStarter) Hooks {
	h.start = start
	return h
}

// hooks returns the session's hooks; nil if there are none.
func (s *Session) hooks(c SessionConfig, log *journal.Log) *hooks.Set {
	if c.Hooks == nil {
		return nil
	}
	made := hooks.Config{
		Hooks: c.Hooks.List, Log: log, Dir: c.WorkDir, Project: c.Hooks.Project, Permission: c.Permission,
		Model: c.Model.Name,
		Child: s.origin != nil, Redact: s.redact, Logger: c.Logger,
		Runner: hooks.Processes{
			Env:     c.Hooks.Env,
			Marker:  Store{Dir: s.host.config.DataDir}.Marker(s.id),
			Lock:    log.LockFile(),
			Project: c.Hooks.start,
		},
	}
	if lock := log.LockFile(); lock != nil {
		made.Transcript = lock.Name()
	}
	return hooks.New(made)
}

package settle

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/run"
	"github.com/settle-agent/settle/tool"
)

// Config has the options of a [Host], which all of its sessions share. The zero value is valid.
type Config struct {
	// DataDir is the directory for logs; "" keeps logs in memory.
	DataDir string
	// Logs, if set, keeps the logs of sessions. DataDir then has only the complete outputs of
	// commands.
	Logs Logs
	// Secrets are values that settle masks in the events of all sessions. Values under 16
	// characters are not masked.
	Secrets []string
	// Releasable makes the host listen at a control socket in DataDir while a session is open.
	// Other processes of the same user can then ask the host to release a session (settle run
	// --take). Without it, they can only end the program.
	Releasable bool
	// Attach, if set, serves an attached client: a process that dials the control socket to
	// take part in a session. It has a connection of its own, until Attach returns or ctx
	// ends. request is the client's line of JSON, {"join":"SESSION"} with more members, which
	// Attach answers. Several goroutines call Attach.
	Attach func(ctx context.Context, s *Session, request json.RawMessage, conn net.Conn)
	// Frontend is the kind of program in the log; "" means "library".
	Frontend string
	// Version is the program's version, for the log.
	Version string
	// Logger gets diagnostics that are not events; nil discards them.
	Logger *slog.Logger
	// Observer is called when turns, attempts and tool calls start and end.
	Observer Observer
}

// The settings of turns; see package run.
type (
	Input         = run.Input
	Limits        = run.Limits
	SessionLimits = run.SessionLimits
	Retry         = run.Retry
	Instruction   = run.Instruction
	Hook          = run.Hook
	Observer      = run.Observer
)

// SessionConfig configures a session. Model must be set.
type SessionConfig struct {
	// Model is the model of the session's turns. [Session.SetModel] changes it.
	Model model.Config
	// WorkDir is the working directory of tools, absolute; "" means ".".
	WorkDir string
	// System is the system prompt. Prompts, if set, returns the prompt of models with a
	// model.Config.Prompt of that name, or "" for System. It returns the same text for the same name, and
	// several goroutines may call it.
	System  string
	Prompts func(name string) string
	// Tools are the tools that the model can call.
	Tools []tool.Tool
	// Toolbox, if set, makes more tools for this session, such as tools that start processes.
	Toolbox func(SessionInfo) (Toolbox, error)

	// Instructions, if set, returns the project's instruction files for the places below dir,
	// the working directory, where calls worked. It is called after each step with the calls
	// that ran. The model receives each file once in a session. Several goroutines may call
	// it.
	Instructions func(dir string, calls []event.Content) []Instruction

	// Permission is the policy for calls that could change something; "" means Ask. Judge, if
	// set, makes the judge of the session's calls instead. A call that needs approval goes to
	// Approver. Without an Approver it waits for [Session.Answer] if the session is Attended.
	// Otherwise it is denied, and Outcome.Denied lists it.
	Permission Permission
	Judge      func() (Judge, error)
	Approver   Approver
	Attended   bool
	// Reviewer, if set, can allow a call before it goes to the Approver or waits, if its judgement
	// says so. Calls of child agents have no reviewer.
	Reviewer Reviewer

	// Hooks, if set, are commands that run on events of the session and may refuse or change
	// them.
	Hooks *Hooks
	// Tasks, if set, lets the model start child agents.
	Tasks *Tasks

	Limits Limits
	Retry  Retry
	// Compaction selects how settle makes room when the model's window is nearly full; ""
	// means CompactionAuto. settle must know the window, from model.Config.Traits or from a
	// provider's refusal.
	Compaction Compaction
	// InterruptGrace bounds the time in which running calls must stop after an interrupt; 0 means
	// 250 ms.
	InterruptGrace time.Duration

	// Ephemeral keeps the log in memory even if the host has a DataDir.
	Ephemeral bool
	// MustExist opens only an existing session; otherwise the error is a [*MissingError].
	MustExist bool
	// LockTimeout bounds the wait for another process that has the session open; 0 does not wait.
	// settle does not wait for a stopped process.
	LockTimeout time.Duration
	// Take takes the session over from the process that has it open: settle asks that process
	// to release the session, or ends it.
	Take bool

	// Secrets are values that settle masks in the session's events, in addition to the secrets
	// of the host and the model.
	Secrets []string
	// Confinement, if set, is the confinement of Toolbox's commands, for the log.
	Confinement *event.Confinement
	// Worktree, if set, is the git worktree of the session's own in which it works. The session
	// calls its Leave or Keep once, before it closes.
	Worktree *Worktree
	// Notes go into the log, for people who read it.
	Notes []string
	// Logger, if set, replaces the host's logger.
	Logger *slog.Logger
	// Value is any value of the program; [Session.Value] returns it.
	Value any
}

// Worktree is a git worktree of a session's own, see [SessionConfig].
type Worktree struct {
	event.Worktree
	// Leave removes the worktree if nothing in it has changed, and returns the outcome.
	Leave func(context.Context) event.WorktreeLeft
	// Keep leaves the worktree to the user with the reason. The session calls it instead of
	// Leave if processes may work in the worktree still: released jobs, and processes that
	// settle could not end. If it is nil, the session calls neither.
	Keep func(ctx context.Context, why string) event.WorktreeLeft
}

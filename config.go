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

// Config is what the sessions of a [Host] have in common. The zero value is
// ready.
type Config struct {
	// DataDir is the directory for logs; "" keeps them in memory.
	DataDir string
	// Logs, if set, keeps the logs of sessions instead of DataDir, which then holds only
	// the whole outputs of commands.
	Logs Logs
	// Secrets are values that must never appear in an event of any session;
	// those shorter than 16 characters are left alone.
	Secrets []string
	// Releasable makes the host listen at a socket in DataDir while a session is
	// open. There, other processes of the same user can ask it to release one (settle run
	// --take). Otherwise they can only end the program.
	Releasable bool
	// Attach, if set, serves a process that asks at that socket to take part in
	// a session, over a connection of its own, until that ends or ctx does.
	// request is the line of JSON that it sent, {"join":"SESSION"} with more members;
	// Attach answers it. It is called by several goroutines.
	Attach func(ctx context.Context, s *Session, request json.RawMessage, conn net.Conn)
	// Face names the kind of program in the log; "" means "library".
	Face string
	// Version is the program's version, for the log.
	Version string
	// Logger gets diagnostics that are not events; nil discards them.
	Logger *slog.Logger
	// Observer is called when turns, attempts and tool calls start and end.
	Observer Observer
}

// The types of what turns are run with; see package run.
type (
	Input         = run.Input
	Limits        = run.Limits
	SessionLimits = run.SessionLimits
	Retry         = run.Retry
	Instruction   = run.Instruction
	Hook          = run.Hook
	Observer      = run.Observer
)

// SessionConfig is how one session works. Model must be set.
type SessionConfig struct {
	// Model is the model of its turns. [Session.SetModel] changes it.
	Model model.Config
	// WorkDir is the directory that tools work in, absolute; "" means ".".
	WorkDir string
	// System is the system prompt.
	System string
	// Tools are the tools that the model can call.
	Tools []tool.Tool
	// Toolbox, if set, makes more tools for this session, such as tools that
	// start processes.
	Toolbox func(SessionInfo) (Toolbox, error)

	// Instructions, if set, returns what the project says of the places below dir, the
	// working directory, where calls worked. It is called after each step that made
	// calls, with those that ran. The model is given each file once in a session. It
	// may be called by several goroutines.
	Instructions func(dir string, calls []event.Content) []Instruction

	// Permission is the policy for calls that could change something; "" means
	// Ask. Judge, if set, makes what judges the calls of the session instead.
	// A call that needs approval goes to Approver. Without an Approver it waits
	// for [Session.Answer] if the session is Attended. Otherwise it is denied, and
	// Outcome.Denied lists it.
	Permission Permission
	Judge      func() (Judge, error)
	Approver   Approver
	Attended   bool

	// Hooks, if set, are commands that are run on occasions, and may refuse or change
	// what is to happen.
	Hooks *Hooks
	// Tasks, if set, lets the model start child agents.
	Tasks *Tasks

	Limits Limits
	Retry  Retry
	// Compaction says how room is made when the model's window is nearly full; ""
	// means CompactionAuto. The window has to be known: model.Config.Traits has it,
	// or a provider's refusal.
	Compaction Compaction
	// InterruptGrace is how long running calls have to stop when their turn is
	// interrupted; 0 means 250 ms.
	InterruptGrace time.Duration

	// Ephemeral keeps the log in memory even if the host has a DataDir.
	Ephemeral bool
	// MustExist opens only a session that exists: otherwise the error is a
	// [*MissingError].
	MustExist bool
	// LockTimeout is how long to wait for another process that holds the
	// session; 0 does not wait. A process that is stopped is not waited for.
	LockTimeout time.Duration
	// Take takes the session over from the process that holds it: that process is
	// asked to release it, or ended.
	Take bool

	// Secrets are values that must never appear in an event of the session, in
	// addition to those of the host and the model.
	Secrets []string
	// Confinement, if set, says in the log what the commands of Toolbox may do.
	Confinement *event.Confinement
	// Notes go into the log, for people who read it.
	Notes []string
	// Logger, if set, replaces the host's.
	Logger *slog.Logger
	// Value is anything that the program wants to keep with the session;
	// [Session.Value] returns it.
	Value any
}

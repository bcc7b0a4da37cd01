// Package settle embeds a coding agent whose every turn ends: with exactly one
// terminal event, an honest cause, and nothing of it still running.
//
//	host, err := settle.Open(ctx, settle.Config{Provider: provider, Model: "…"})
//	defer host.Close(ctx)
//	session, err := host.Session(ctx, "")          // open or create
//	turn, err := session.Submit(ctx, "fix the failing test")
//	for e, err := range turn.Events(ctx) { … }     // stopping to read is no interrupt
//	outcome, err := turn.Wait(ctx)                 // err says how it did not complete
//
// The package reads no environment and no files of its own accord, installs no
// signal handler, never exits and has no global state. Without a directory, logs
// are in memory. Without an approver, and unless Permission is Allow, calls that
// could change something are denied. A program whose agents run commands
// calls [RunAsWarden] in the first line of its main.
package settle

import (
	"log/slog"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool"
)

// Types of the parts that a Config is made of.
type (
	// Bounds are how long a stream may go without what it should bring.
	Bounds = turn.Bounds
	// Approver decides whether a call may run.
	Approver = turn.Approver
	// Approval is a call that is ready to run.
	Approval = turn.Approval
	// DeniedError is what an Approver returns to refuse a call.
	DeniedError = turn.DeniedError
	// Cause says how a turn ended; as an error it says so in words.
	Cause = event.Cause
	// Failure is the error of a turn that failed.
	Failure = event.Failure
	// Limiter holds the requests of several hosts that use one provider key;
	// the zero value is ready.
	Limiter = turn.Limiter
)

// ErrClosed is returned for what comes after Close.
var ErrClosed = session.ErrClosed

// Config is what a Host needs. Provider and Model must be set.
type Config struct {
	// Dir is the data directory for logs; "" keeps them in memory.
	Dir string
	// WorkDir is the directory that tools work in, absolute; "" means ".".
	WorkDir string

	// Provider streams the model's responses, and ProviderName names it in
	// events.
	Provider     model.Provider
	ProviderName string
	// Model is the provider's name for the model.
	Model string
	// Traits are what is known of the model; the zero value is safe.
	Traits Traits
	// Effort is how much the model is to think; see [model.Request].
	Effort string

	// System is the system prompt.
	System string
	// Tools are what the model may call in every session.
	Tools []tool.Tool
	// Toolbox, if set, makes further tools for one session.
	Toolbox func(SessionInfo) (Toolbox, error)

	// Permission is the policy for calls that could change something, unless
	// Judge, made anew for each session, says more. Where a call is to be
	// asked about, Approver is; without one, Session.Answer if the host is
	// Attended; else it is denied.
	Permission Permission
	Judge      func() (Judge, error)
	Approver   Approver
	Attended   bool

	Limits Limits
	Retry  Retry
	Bounds Bounds
	// Limiter, if set, is shared with other hosts that use the same provider
	// key: when one is told to wait, all do.
	Limiter *Limiter
	// InterruptGrace is how long calls have to stop when their turn is
	// interrupted; 0 means 250 ms.
	InterruptGrace time.Duration

	// Secrets are values that must never appear in an event; those shorter
	// than 16 characters are left alone.
	Secrets []string
	// Take ends another process that holds a session that is opened.
	Take bool
	// Releasable has the host listen at a socket in Dir, where other processes
	// may ask it to release a session (--take). Without it, who wants a session
	// of the host is told to end the program.
	Releasable bool
	// Face names the way in, in the log; "" means "library".
	Face string
	// Version is that of the program, in the log.
	Version string
	// Notes are what a person should know who looks at the log.
	Notes  []string
	Logger *slog.Logger
}

// Traits are what is known of a model and its wire format.
type Traits struct {
	// Window and MaxOutput are tokens; 0 if unknown.
	Window, MaxOutput int
	// NoImages says that the model cannot see.
	NoImages bool
	// TextAfterCalls: a response may have text after a call.
	TextAfterCalls bool
	// ReasoningField: reasoning is a field of the response, and goes back as one.
	ReasoningField bool
	// RefusalSticks: after a refusal, the provider refuses every request that
	// still has what it was about.
	RefusalSticks bool
}

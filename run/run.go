// Package run declares the options of turns: inputs, limits, retries, instructions, hooks and
// observers. Package settle has aliases for its types.
package run

import (
	"context"
	"encoding/json"
	"time"

	"github.com/settle-agent/settle/event"
)

// Input is an input of a session with its options. A program can pass it on to another
// process.
type Input struct {
	// ID is the client's id for the input; "" makes one. An input that is sent again
	// with the same ID runs only once.
	ID     string
	Text   string
	Images []event.Image
	// Documents are PDFs. A session reads the text of documents without one.
	Documents []event.Document
	Mode      event.Mode // "" means queue
	// Schema, if set, is the JSON Schema of the answer.
	Schema json.RawMessage
	// Command means that Text is a command to run; see settle.AsCommand.
	Command bool
	// HeldCall, if set, is a verdict about a held call, by its id; Text is not used.
	HeldCall *event.HeldVerdict
	// Hold accepts a verdict without starting a turn: it runs together with the next input.
	Hold bool
	// Last means that the session starts no turn after the input's; see settle.AsLast.
	Last bool
	// By names who sends the input: "user" or a client.
	By string
	// Expand, if set, replaces Text; see settle.WithExpansion.
	Expand func(ctx context.Context, text string) (string, []event.Image, error) `json:"-"`
}

// Instruction is the text of a project's instruction file.
type Instruction struct {
	Path string // of the file
	Text string
}

// Limits end a turn that runs for too long: settle aborts it with the reason "limit",
// and a new input continues it. Tokens and cost are sums over the turn and the child
// agents that it started. Limits are checked before each request, Time at any moment.
type Limits struct {
	Steps   int           // responses of the model; 0 for no limit
	Time    time.Duration // 0 for no limit
	Repeats int           // same call, same result; 0 means 10, negative none
	Tokens  int64         // input and output of all its requests; 0 for no limit
	Cost    float64       // of all its requests, in US dollars; 0 for no limit; needs the model's Price
	// Session bounds the session as a whole, including its usage before it was opened again. A turn
	// that starts after such a limit is reached ends at once.
	Session SessionLimits
	// Outside, if set, is called before each request, also of child agents, with the sum
	// of the turn and its child agents. The cause that it returns ends the turn; make
	// the cause with [event.AbortLimit]. Outside must not block. Several goroutines call it.
	Outside func(spent event.Summary) *event.Cause
}

// SessionLimits bound a session together with its child agents.
type SessionLimits struct {
	Steps  int           // responses of models; 0 for no limit
	Time   time.Duration // of the session's own turns; 0 for no limit
	Tokens int64         // input and output of all requests; 0 for no limit
	Cost   float64       // of all requests, in US dollars; 0 for no limit; needs the model's Price
}

// Retry bounds the retries of a failed request. The zero value retries server faults
// five times, stalls twice, and an overloaded or unreachable provider for ten minutes.
type Retry struct {
	// Retries, if set, is the number of retries for any kind of fault.
	Retries *int
	// RetryFor bounds the retries of an overloaded or unreachable provider; 0 means 10
	// minutes, negative no retries.
	RetryFor time.Duration
}

// Observer has functions for traces and metrics of a host's turns. Each function is
// called when something has started, with the event of the start, which the log already
// has. It returns a context, for example with a span, and a function that is called once
// with the event of the end. Both results may be nil.
//
//	Turn     turn.started … turn.completed, turn.aborted, turn.failed
//	Attempt  attempt.started … attempt.ended     one request to the model, within a turn
//	Call     call.started … item.ended           one tool call, within a turn
//
// Output is called at most once for each attempt, between its start and its end. It receives the
// first event with output of the model: an item.delta, or the item.started of a tool call. Its
// context is the context that Attempt returned.
//
// The contexts of attempts and calls are derived from the context of their turn. The provider and
// its HTTP client receive the context of an attempt; the tool receives the context of a call. A
// function must derive its context from the context that it receives; any other context is ignored.
//
// The events have the ids of session, turn, attempt and item, and times. Their data has
// provider and model ([event.TurnStarted], [event.AttemptStarted]), usage, stop reason
// and failure ([event.AttemptEnded]), status, effects and exit code of a call
// ([event.ItemEnded]), and cause and usage of a turn ([event.TurnCompleted],
// [event.TurnAborted], [event.TurnFailed]). Data is nil if the log could not record the
// end.
//
// Several goroutines call the functions, and a turn waits for them. When Interrupt or
// Close returns, the functions of the ended turns have returned; Turn.Wait does not wait
// for them. A panic in a function is logged. Functions that are nil cost nothing. All
// other events are in Session.Events.
type Observer struct {
	Turn    func(ctx context.Context, started event.Event) (context.Context, func(ended event.Event))
	Attempt func(ctx context.Context, started event.Event) (context.Context, func(ended event.Event))
	Output  func(ctx context.Context, started, first event.Event)
	// Call also receives the tool's name.
	Call func(ctx context.Context, tool string, started event.Event) (context.Context, func(ended event.Event))
}

// Hook is a command that runs at an event of a session, in the form of Claude Code: it reads JSON,
// and its exit code and output decide what happens next. See docs/hooks.md. A blocking hook (see
// [event.HookEvent]) that fails denies.
type Hook struct {
	Event event.HookEvent
	// Matcher selects tools, triggers or sources in the form of Claude Code: names with
	// "|" between them, or a regular expression; "" and "*" match all.
	Matcher string
	// Command is for the shell. If Args is set, Command is a program with these arguments.
	Command string
	Args    []string
	// Timeout bounds each run; 0 means 10 s.
	Timeout time.Duration
	// Source names the file that configures the hook, for people.
	Source string
	// Env are variables in addition to the environment of all hooks.
	Env []string
	// Dir is the hook's project, an absolute path, in which it runs; "" means the
	// session's directory.
	Dir string
	// Own means that the hook may allow a call that would need approval. No hook can
	// allow a call that is denied.
	Own bool
	// Broken, if set, states why the hook cannot run: it fails each time.
	Broken string
	// Check, if set, is called before each run, within its Timeout. If it returns an error,
	// the hook does not run, and fails.
	Check func(context.Context) error
}

package event

import (
	"fmt"
	"strings"
)

// Outcome is the kind of end of a turn or an attempt.
type Outcome string

// The outcomes.
const (
	Completed Outcome = "completed"
	Aborted   Outcome = "aborted"
	Failed    Outcome = "failed"
)

// Reason is the reason of an abort.
type Reason string

// The reasons.
const (
	// Interrupted: a person or a client asked for it.
	Interrupted Reason = "interrupted"
	// Replaced: a new input took the turn's place.
	Replaced Reason = "replaced"
	// Shutdown: a signal, the end of standard input, the host closing.
	Shutdown Reason = "shutdown"
	// Crashed: the writer died; found and written when the log was opened.
	Crashed Reason = "crashed"
	// LimitReached: steps, time, cost, repeats or context; Cause.Limit names the limit.
	LimitReached Reason = "limit"
	// Parent: the parent agent or call was cancelled.
	Parent Reason = "parent"
	// MachineLost: the machine of a call is unreachable, or the supervisor of its
	// processes died; never the reason of a turn.
	MachineLost Reason = "lost"
	// TimedOut: a call's own timeout. Turns end by LimitReached instead.
	TimedOut Reason = "timeout"
)

// Limit is the limit that a turn reached.
type Limit string

// The limits.
const (
	LimitSteps   Limit = "steps"
	LimitTime    Limit = "time"
	LimitTokens  Limit = "tokens"
	LimitCost    Limit = "cost"
	LimitRepeats Limit = "repeats"
	LimitContext Limit = "context" // the model's window is full, and compaction does not help
	// Limits of the whole session, including its child agents.
	LimitSessionSteps  Limit = "session_steps"
	LimitSessionTime   Limit = "session_time"
	LimitSessionTokens Limit = "session_tokens"
	LimitSessionCost   Limit = "session_cost"
)

// Cause is the cause of the end of a turn, or of an entity in it. As an error it travels as the
// cause of a cancelled context. The zero Cause is not valid; use [Complete], [Abort] or [Fail].
type Cause struct {
	Outcome Outcome  `json:"outcome"`
	Reason  Reason   `json:"reason,omitempty"`
	Limit   Limit    `json:"limit,omitempty"`
	By      string   `json:"by,omitempty"`
	Message string   `json:"message,omitempty"`
	Failure *Failure `json:"error,omitempty"`
}

// Taker is the By of endings that a process causes by taking a session over.
const Taker = "take"

// Resumer is the By of the input with which "settle run --resume-crashed" has the model continue work that was
// cut. It has settle's words, not the user's.
const Resumer = "resume-crashed"

// Complete is the cause of a good ending.
func Complete() *Cause { return &Cause{Outcome: Completed} }

// Abort is the cause of a forced ending; by names the person, client or signal.
func Abort(reason Reason, by string) *Cause {
	return &Cause{Outcome: Aborted, Reason: reason, By: by}
}

// AbortLimit is the cause of a turn that reached one of its limits.
func AbortLimit(limit Limit, message string) *Cause {
	return &Cause{Outcome: Aborted, Reason: LimitReached, Limit: limit, Message: message}
}

// Fail is the cause of a failure.
func Fail(f *Failure) *Cause { return &Cause{Outcome: Failed, Failure: f} }

// Error describes the ending for a person: "interrupted",
// "replaced by a new input", "failed: …".
func (c *Cause) Error() string {
	switch c.Outcome {
	case Completed:
		return "completed"
	case Failed:
		if c.Failure == nil {
			return "failed"
		}
		return "failed: " + c.Failure.Message
	}
	words := c.Reason.words(c.Limit)
	if c.Reason == Shutdown && c.By == Taker {
		words = "another process took the session over"
	}
	return joinMessage(words, c.Message)
}

// Unwrap returns the failure, so that errors.As finds it.
func (c *Cause) Unwrap() error {
	if c.Failure == nil {
		return nil
	}
	return c.Failure
}

func (r Reason) words(limit Limit) string {
	switch r {
	case Replaced:
		return "replaced by a new input"
	case Shutdown:
		return "settle was shut down"
	case Crashed:
		return "settle was killed"
	case LimitReached:
		if what, ok := strings.CutPrefix(string(limit), "session_"); ok {
			return fmt.Sprintf("the session's limit on %s was reached", what)
		}
		return fmt.Sprintf("the limit on %s was reached", limit)
	case Parent:
		return "the parent was cancelled"
	case MachineLost:
		return "its machine was lost"
	case TimedOut:
		return "timed out"
	}
	return string(r)
}

func joinMessage(head, message string) string {
	if message == "" {
		return head
	}
	return head + ": " + message
}

// Failure is an error as the log keeps it, redacted. Name is stable and meant
// for programs; Message is for people.
type Failure struct {
	// Name is the error's stable name, such as "TerminalRetryExhaustedError".
	Name string `json:"name"`
	// Kind is the kind of fault that a provider had, such as "overloaded".
	Kind string `json:"kind,omitempty"`
	// Status is the HTTP status, or 0 where there was none.
	Status int `json:"status,omitempty"`
	// URL is the request's, without userinfo and query.
	URL string `json:"url,omitempty"`
	// Body is the beginning of the provider's answer, at most 500 characters.
	Body    string `json:"body,omitempty"`
	Message string `json:"message"`
	// Attempt and RetryLimit say which attempt of how many it was.
	Attempt    int `json:"attempt,omitempty"`
	RetryLimit int `json:"retry_limit,omitempty"`
	// Stack is set where a panic was recovered.
	Stack string `json:"stack,omitempty"`
}

// The stable names of failures.
const (
	// NameRetryExhausted: the last attempt that the budget allowed failed.
	NameRetryExhausted = "TerminalRetryExhaustedError"
	// NameProvider: the provider refused the request; a retry would not help.
	NameProvider = "ProviderError"
	// NameHook: a hook refused the input or the compaction of the turn.
	NameHook = "HookError"
	// NameJournal: the log could not be written; later events are in memory only.
	NameJournal = "JournalError"
	// NamePanic: a defect of settle or of a tool.
	NamePanic = "PanicError"
	// NameInternal: any other failure of settle itself.
	NameInternal = "InternalError"
)

func (f *Failure) Error() string {
	var b strings.Builder
	b.WriteString(f.Message)
	if f.Status != 0 && !strings.Contains(f.Message, fmt.Sprint(f.Status)) {
		fmt.Fprintf(&b, " (status %d)", f.Status)
	}
	return b.String()
}

// HasEndTime reports whether the work ended when its ending says. A host that was killed left no
// time of its end: the ending has the time of the last event before it.
func (c *Cause) HasEndTime() bool { return c == nil || c.Reason != Crashed }

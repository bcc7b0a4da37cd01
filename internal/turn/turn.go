package turn

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/internal/hooks"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/run"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/family"
)

// Config configures a turn. Log, Model and Tools must be set.
type Config struct {
	Requests
	Execution
	Bounds
	Log *journal.Log
	// AwaitChildren keeps the turn running while background children run.
	AwaitChildren bool
	// Redact masks secrets in all output of models and tools; nil masks nothing.
	Redact *redact.Redactor
	Logger *slog.Logger
	// Observer is called when turns, attempts and calls start and end.
	Observer run.Observer
	// Hooks are the session's hooks; nil for none.
	Hooks *hooks.Set
}

// Requests configures the model requests of a turn.
type Requests struct {
	Model model.Config
	// System is the system prompt; Prompts, if set, returns the prompt of models with a
	// model.Config.Prompt of that name, or "" for System.
	System  string
	Prompts func(name string) string
	// Conversation is the session's conversation, so that a turn's first request extends the
	// last request of the turn before; nil starts a new one.
	Conversation *history.Conversation
	// Compaction selects how settle makes room when the model's window is full; empty means
	// off.
	Compaction Compaction
	// Instructions, if set, returns the project's instruction files below dir for the places
	// where the calls worked. It is called after each step and reads files. It returns files
	// that the model already has as well.
	Instructions func(dir string, calls []event.Content) []run.Instruction
	// Reminder, if set, returns a note for the model before the next request, such as that the
	// permission mode has changed; empty for none. It receives the state of the log.
	Reminder func(s event.State) string
}

// Execution configures the calls of a turn.
type Execution struct {
	Tools *tool.Set
	// Dir is the working directory of calls, absolute.
	Dir string
	// Approver approves each call; nil lets every call run.
	Approver Approver
	// Filler lets the user fill in forms; nil declines forms.
	Filler Filler
	// Command returns the call for an input that is a command; nil refuses commands.
	Command func(text string) (tool string, arguments json.RawMessage)
	// Calls, if set, lets clients cancel single calls of the turn.
	Calls *Calls
	// Hurry, when closed, ends every grace at once.
	Hurry <-chan struct{}
}

// Bounds are the limits of a turn.
type Bounds struct {
	Retry  run.Retry
	Limits run.Limits
	// Meter is the session's meter; nil makes a new one.
	Meter *Meter
	// InterruptGrace is the time in which all calls, in parallel, must end after the turn was
	// interrupted or has failed; 0 means 250 ms.
	InterruptGrace time.Duration
	// CallTimeout bounds calls whose tool has no timeout; 0 means one hour.
	CallTimeout time.Duration
}

// Approver decides whether a call may run. Approve returns a grant to let the call run, an
// [*approval.DeniedError] to refuse it, or context.Cause(ctx) if ctx ends first.
type Approver interface {
	Approve(ctx context.Context, call approval.Call) (Grant, error)
}

// Grant confines an approved call. The zero value does not confine it.
type Grant struct {
	// Sandbox and Secrets are as in [tool.Call].
	Sandbox event.Sandbox
	Secrets event.Secrets
	// Places are as in [tool.Call].
	Places []event.ResolvedPath
	// Alone is as in [tool.Call].
	Alone func() error
	// Arguments, if set, replace the call's: the person who approved it changed it.
	Arguments string
	// Permission is as in [tool.Call].
	Permission string
	// Notice is a line for people at the beginning of the call; empty for none.
	Notice string
}

const (
	defaultInterruptGrace = 250 * time.Millisecond
	defaultCallTimeout    = time.Hour
	// settleMargin is the time after the grace in which a call can report its output, when its
	// processes have ended.
	settleMargin = 200 * time.Millisecond
	// clearMargin is the time after the grace for all calls together (C9).
	clearMargin = 250 * time.Millisecond
	// cleanTimeout bounds all finalizers together. Each finalizer also has its own bound.
	cleanTimeout = 30 * time.Second
)

// turn is a running turn. Its fields belong to the goroutine that called Run; of Config, only
// the model changes, while no call runs.
type turn struct {
	Config
	offer
	stepState
	consumption
	instructionState
	id, session string
	cancel      context.CancelCauseFunc
	calls       []*call // of this turn, in order
	budget      budget
	window      windowState
	detached    sync.WaitGroup // goroutines of streams and tools that may outlive their callers
	// observation is the observer's state; nil without an observer.
	observation *observation
	endingErr   error // why the ending is not durable or not in the log
}

// offer is the model of a turn, and the tools that it is offered.
type offer struct {
	target history.Target
	view   *family.View // the tools under the names that the model sees
	// providerSearch means that the provider searches deferred tools.
	providerSearch bool
}

// stepState is the state of the loop over steps.
type stepState struct {
	purpose         event.Purpose
	firstFailure    string // model and failure that the fallback model followed; empty without it
	cutResponses    int    // responses in a row that were cut at the output limit
	pausedResponses int    // responses in a row that the provider paused
	stopRefusals    int    // in a row, by hooks of the turn's end
	repeats         map[[32]byte]int
}

// consumption is the part of its limits that a turn has used.
type consumption struct {
	startedAt       time.Time
	timeBefore      time.Duration // run time of the session's earlier turns
	meter           *Meter
	countedAttempts int             // attempts of the turn that the meters include
	countedReviews  map[string]bool // reviews of the turn that the meters include
	warnings        map[string]bool // limits about which the model was warned
}

// Run runs the started turn with the id until the turn has its terminal event, and returns its
// cause. Cancel ctx with an [*event.Cause] to interrupt the turn. The error reports failures
// besides the turn, such as in the journal or a finalizer; the turn has ended in any case. The
// configuration is a pointer so that the stack of a turn stays small while it waits.
func Run(ctx context.Context, c *Config, id string) (cause *event.Cause, err error) {
	t := newTurn(c, id)
	if failed := scope.Guard(func() error { cause, err = t.run(ctx); return nil }); failed != nil {
		return t.endPanicked(failed)
	}
	return cause, err
}

// endPanicked ends a turn that panicked, unless it has its ending.
func (t *turn) endPanicked(failed error) (*event.Cause, error) {
	t.panicked("a turn panicked")(failed)
	cause := event.Fail(t.failure(failed))
	return cause, errors.Join(failed, t.end(cause))
}

func (t *turn) run(ctx context.Context) (*event.Cause, error) {
	ctx, cancel := t.withLimits(t.observe(ctx))
	t.cancel = cancel
	defer cancel(nil)
	defer t.count()
	ctx = context.WithValue(ctx, meterKey{}, t.meter)
	var cause, interrupted *event.Cause
	err := scope.Run(ctx, cleanTimeout, func(ctx context.Context, s *scope.Scope) error {
		s.Ensure(func(_ context.Context, exit error) error {
			cause = t.causeOf(exit, interrupted)
			if err := t.end(cause); err != nil {
				t.endingErr = err
			}
			return t.endingErr
		})
		s.OnInterrupt(ctx, func(_ context.Context, why error) error {
			interrupted = interruption(why)
			return nil
		})
		s.Ensure(t.settleCalls)
		return t.work(ctx)
	})
	cancel(nil)
	t.awaitDetached()
	t.observation.close()
	return cause, extraError(err, cause, t.endingErr)
}

// end ends the turn, unless it has ended.
func (t *turn) end(cause *event.Cause) error {
	return t.update(func(s event.State) []event.Event {
		if r := s.Running(); r == nil || r.ID != t.id {
			return nil
		}
		return event.Endings(s, cause)
	})
}

func newTurn(given *Config, id string) *turn {
	c := *given
	if c.InterruptGrace == 0 {
		c.InterruptGrace = defaultInterruptGrace
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = defaultCallTimeout
	}
	if c.Conversation == nil {
		c.Conversation = &history.Conversation{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Retry = withDefaults(c.Retry)
	t := &turn{
		Config: c, id: id,
		stepState:   stepState{repeats: map[[32]byte]int{}},
		consumption: consumption{startedAt: time.Now(), warnings: map[string]bool{}, countedReviews: map[string]bool{}},
	}
	c.Log.View(func(s event.State) {
		t.session = s.Session
		if c.Limits.Session.Time > 0 {
			t.timeBefore = timeWorked(s)
		}
		if running := s.Turn(id); running != nil {
			t.purpose = running.Start.Purpose
		}
	})
	if t.Meter == nil {
		t.Meter = NewMeter(c.Limits.Session, event.Summary{}, nil)
	}
	t.meter = &Meter{
		scope: "turn", limits: run.SessionLimits{Tokens: c.Limits.Tokens, Cost: c.Limits.Cost}, parent: t.Meter,
	}
	t.use(&c.Model)
	return t
}

// withLimits returns the turn's context. It ends at a time limit, and when the journal fails:
// nothing may start that cannot be recorded.
func (t *turn) withLimits(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var timers []*time.Timer
	if limit := t.Limits.Time; limit > 0 {
		timers = append(timers, time.AfterFunc(limit, func() {
			cancel(event.AbortLimit(event.LimitTime, "the turn ran for "+formatDuration(limit)))
		}))
	}
	if limit := t.Limits.Session.Time; limit > t.timeBefore { // otherwise the limit is reached before the first request
		timers = append(timers, time.AfterFunc(limit-t.timeBefore, func() {
			cancel(event.AbortLimit(
				sessionLimit(event.LimitTime), "the session's turns ran for "+formatDuration(limit),
			))
		}))
	}
	stop := t.Log.AfterFailure(func() { cancel(event.Fail(journalFailure(t.Log.Err()))) })
	return ctx, func(why error) { // Run calls it when it returns
		cancel(why)
		stop()
		for _, timer := range timers {
			timer.Stop()
		}
	}
}

// causeOf returns the cause of a turn whose work returned exit.
func (t *turn) causeOf(exit error, interrupted *event.Cause) *event.Cause {
	var cause *event.Cause
	switch {
	case exit == nil:
		return event.Complete()
	case interrupted != nil:
		return interrupted
	case errors.As(exit, &cause):
		return cause
	}
	return event.Fail(t.failure(exit))
}

// interruption returns the cause of a cancelled context. A context that was cancelled without
// an [*event.Cause] counts as a shutdown.
func interruption(why error) *event.Cause {
	var cause *event.Cause
	if errors.As(why, &cause) {
		return cause
	}
	cause = event.Abort(event.Shutdown, "host")
	cause.Message = why.Error()
	return cause
}

// extraError returns the part of err that the turn's ending does not have.
func extraError(err error, cause *event.Cause, unended error) error {
	var failed *journal.FailedError
	var panicked *scope.PanicError
	switch {
	case errors.As(err, &failed):
		return failed
	case unended != nil: // a defect of settle: the log has no ending
		return unended
	case errors.As(err, &panicked) && cause.Outcome != event.Failed:
		return panicked
	}
	return nil
}

// awaitDetached waits a moment for detached goroutines, so that a host that closes finds
// nothing running. Most turns have none.
func (t *turn) awaitDetached() {
	done := make(chan struct{})
	// Ends with the last detached goroutine. A provider or tool that ignores its context keeps
	// it, and nothing waits for it.
	go func() {
		t.detached.Wait()
		close(done)
	}()
	timer := time.NewTimer(settleMargin)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		t.Logger.Warn("a provider or tool did not stop when it was cancelled", "turn", t.id)
	}
}

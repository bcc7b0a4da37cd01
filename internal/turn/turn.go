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

// Config is what a turn needs. Log, Model and Tools must be set.
type Config struct {
	Log   *journal.Log
	Model model.Config
	// Conversation is the session's, so that a turn's first request goes on from
	// the last one of the turn before; nil for one of the turn's own.
	Conversation *history.Conversation
	System       string
	Tools        *tool.Set
	// Dir is the working directory of the calls, absolute.
	Dir string
	// Instructions, if set, returns what the project says of the places below dir
	// where the calls worked. It is called after each step, reads files, and does not
	// look at what was given before.
	Instructions func(dir string, calls []event.Content) []run.Instruction
	// Approver is asked before each call; nil lets every call run.
	Approver Approver
	// Filler has the user fill in what calls ask for; nil declines at once.
	Filler Filler
	Retry  run.Retry
	Limits run.Limits
	// Meter is the session's; nil for one of the turn's own.
	Meter *Meter
	// Compaction says how room is made when the model's window is full; empty
	// means off.
	Compaction Compaction
	// InterruptGrace is how long calls have to stop once the turn is
	// interrupted or failing, all in parallel; 0 means 250 ms.
	InterruptGrace time.Duration
	// Command makes the call that an input comes to which is a command; nil where
	// none are accepted.
	Command func(text string) (tool string, arguments json.RawMessage)
	// CallTimeout bounds calls whose tool has no bound of its own; 0 means an
	// hour.
	CallTimeout time.Duration
	// AwaitChildren keeps the turn from completing while background children run.
	AwaitChildren bool
	// Calls, if set, lets others cancel single calls of the turn.
	Calls *Calls
	// Hurry, when closed, ends every grace at once.
	Hurry <-chan struct{}
	// Redact masks secrets in all that a model or a tool says; nil for none.
	Redact *redact.Redactor
	Logger *slog.Logger
	// Observer is told what starts and ends.
	Observer run.Observer
	// Hooks are the session's; nil for none.
	Hooks *hooks.Set
}

// Approver decides whether a call may run. Approve returns a grant to let it
// run, a [*DeniedError] to refuse it, or context.Cause(ctx) when ctx ends first.
type Approver interface {
	Approve(ctx context.Context, call approval.Call) (Grant, error)
}

// Grant says how a call may run. The zero value is without bounds.
type Grant struct {
	// Sandbox and Secrets are as in [tool.Call].
	Sandbox event.Sandbox
	Secrets event.Secrets
	// Places: see [tool.Call].Places.
	Places []event.ResolvedPath
}

const (
	defaultInterruptGrace = 250 * time.Millisecond
	defaultCallTimeout    = time.Hour
	// settleMargin is what a call gets beyond the grace to report what it
	// had, once its processes are dead.
	settleMargin = 200 * time.Millisecond
	// clearMargin is what all calls together get beyond the grace (C9).
	clearMargin = 250 * time.Millisecond
	// cleanTimeout bounds all finalizers together. It is a backstop: each has
	// a bound of its own.
	cleanTimeout = 30 * time.Second
)

// turn is one run of Run. Its fields belong to the goroutine that called Run,
// but for Config, which does not change.
type turn struct {
	Config
	id      string
	session string
	target  history.Target
	view    *family.View // of the tools, as the model has them
	// searches says that deferred tools are offered for the provider to search.
	providerSearch  bool
	cancel          context.CancelCauseFunc
	calls           []*call // of this turn, in order
	budget          budget
	repeats         map[[32]byte]int
	startedAt       time.Time
	meter           *Meter
	timeBefore      time.Duration   // by the session's turns before
	countedAttempts int             // of the turn's attempts, by the meter
	warnings        map[string]bool // of the limits that the model knows to be near
	cutResponses    int             // responses in a row that were cut at the output limit
	pausedResponses int             // responses in a row that the provider paused
	purpose         event.Purpose
	stopRefusals    int // in a row, by hooks at the turn's end
	window          windowState
	// instructed is how many of the calls have been looked at for instructions, and
	// given are the files that the model has been given; nil: not known yet.
	instructedCalls int
	knownFiles      map[string]bool
	detached        sync.WaitGroup // pumps and tools that were left behind
	// observed is what the observer knows; nil without one.
	observation *observation
	endingErr   error // why its ending is not durable, or not in the log
}

// Run works on the turn with the id, which has started, until it has its
// terminal event, and returns how it ended. Cancel ctx with an [*event.Cause]
// to interrupt it. The error says what went wrong beside the turn: a journal
// that failed, a defect in the clean-up; the turn has ended all the same.
func Run(ctx context.Context, c Config, id string) (cause *event.Cause, err error) {
	t := newTurn(c, id)
	if failed := scope.Guard(func() error { cause, err = t.run(ctx); return nil }); failed != nil {
		t.panicked("a turn panicked")(failed)
		cause = event.Fail(t.failure(failed))
		err = errors.Join(failed, t.end(cause)) // unless it has its ending
	}
	return cause, err
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

// end ends the turn, if it has not completed.
func (t *turn) end(cause *event.Cause) error {
	return t.update(func(s event.State) []event.Event {
		if r := s.Running(); r == nil || r.ID != t.id {
			return nil
		}
		return event.Endings(s, cause)
	})
}

func newTurn(c Config, id string) *turn {
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
	c.Model.Timeouts = timeouts(c.Model.Timeouts)
	c.Retry = withDefaults(c.Retry)
	t := &turn{
		Config: c, id: id, view: family.New(family.Family(c.Model.Family), family.Offer(c.Model.Offer), c.Tools),
		repeats: map[[32]byte]int{}, warnings: map[string]bool{}, startedAt: time.Now(), budget: budget{Retry: c.Retry},
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
	t.meter = &Meter{scope: "turn", limits: run.SessionLimits{Tokens: c.Limits.Tokens, Cost: c.Limits.Cost}, parent: t.Meter}
	t.target = history.Target{Provider: c.Model.ProviderName, Model: c.Model.Name, Traits: c.Model.Traits, Effort: c.Model.Effort, CacheKey: t.session}
	c.Log.View(func(s event.State) { t.providerSearch = t.target.SearchesTools(s, nil) && hasDeferredTools(t.view) })
	return t
}

// bound returns the context of the turn: it ends at the turn's time limit, and
// when the journal fails, since nothing may start that cannot be recorded.
func (t *turn) withLimits(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var timers []*time.Timer
	if limit := t.Limits.Time; limit > 0 {
		timers = append(timers, time.AfterFunc(limit, func() {
			cancel(event.AbortLimit(event.LimitTime, "the turn ran for "+formatDuration(limit)))
		}))
	}
	if limit := t.Limits.Session.Time; limit > t.timeBefore { // else it is reached before the first request
		timers = append(timers, time.AfterFunc(limit-t.timeBefore, func() {
			cancel(event.AbortLimit(sessionLimit(event.LimitTime), "the session's turns ran for "+formatDuration(limit)))
		}))
	}
	// Ends with the turn: Run cancels the context when it returns.
	go func() {
		select {
		case <-t.Log.Failed():
			cancel(event.Fail(journalFailure(t.Log.Err())))
		case <-ctx.Done():
		}
		for _, timer := range timers {
			timer.Stop()
		}
	}()
	return ctx, cancel
}

// causeOf says how a turn ended whose body left with exit.
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

// interruption is the cause of a cancelled context, also where somebody
// cancelled it without saying why.
func interruption(why error) *event.Cause {
	var cause *event.Cause
	if errors.As(why, &cause) {
		return cause
	}
	cause = event.Abort(event.Shutdown, "host")
	cause.Message = why.Error()
	return cause
}

// beside returns what of err is not the turn's own ending.
func extraError(err error, cause *event.Cause, unended error) error {
	var failed *journal.FailedError
	var panicked *scope.PanicError
	switch {
	case errors.As(err, &failed):
		return failed
	case unended != nil: // a defect of ours: the log has no ending
		return unended
	case errors.As(err, &panicked) && cause.Outcome != event.Failed:
		return panicked
	}
	return nil
}

// awaitStrays gives what the turn left behind a moment to be gone, so that a
// host that closes finds nothing running. Most turns leave nothing.
func (t *turn) awaitDetached() {
	done := make(chan struct{})
	// Ends with the last stray; a provider or tool that ignores its context
	// for ever keeps it, and nothing waits for it.
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

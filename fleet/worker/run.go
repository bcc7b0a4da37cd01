package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool/shell"
)

// run is one attempt at a task:
//
//	opening ─► turn ─► closing ─► completing ─► done
//	   └────────┴── lose: close at once, and complete nothing
type run struct {
	worker  *Worker
	attempt fleet.Attempt
	logger  *slog.Logger
	done    chan struct{} // closed when nothing of it runs any more

	life context.Context // it ends when the attempt is to end early
	end  context.CancelCauseFunc

	// spentBefore is the usage of the task before the present turn; it is set before the turn
	// begins.
	spentBefore event.Summary
	startedTurn bool // a turn of the task, in this attempt

	session atomic.Pointer[settle.Session] // while it is open

	taskCtx context.Context // ends with a [*fleet.CancelledError] if the task is cancelled
	cancel  context.CancelCauseFunc

	waitCtx context.Context // ends with life, or with errHeld
	hold    context.CancelCauseFunc
	hooks   bool // the session has hooks; set before it is opened
	waits   waits
}

func newRun(taskCtx context.Context, w *Worker, a fleet.Attempt) *run {
	r := &run{
		worker:  w,
		attempt: a,
		done:    make(chan struct{}),
	}
	r.logger = w.logger.With("task", a.TaskID, "attempt", a.Number, "epoch", a.Epoch)
	r.life, r.end = context.WithCancelCause(context.Background())
	r.waitCtx, r.hold = context.WithCancelCause(r.life)
	r.taskCtx, r.cancel = context.WithCancelCause(taskCtx)
	if a.Cancel != "" {
		r.cancel(&fleet.CancelledError{By: a.Cancel})
	}
	return r
}

// lostError is the reason of the end of an attempt whose task another worker has now.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// lose ends the attempt and leaves the task to another worker.
func (r *run) lose(err error) { r.end(&lostError{err}) }

// stop ends the attempt and gives the task back.
func (r *run) stop(err error) { r.end(err) }

// cancellation returns the task's cancellation; nil if none was requested.
func (r *run) cancellation() (requested *fleet.CancelledError) {
	errors.As(context.Cause(r.taskCtx), &requested)
	return requested
}

// run runs the attempt to its end. Its functions keep little on the stack of a turn that waits.
func (r *run) run(ctx context.Context) {
	defer r.end(nil)
	defer r.cancel(nil)
	countEnd := r.count()
	result, err := r.work(ctx)
	countEnd(r.complete(ctx, result, err))
}

// count counts the attempt in the worker's metrics. The caller calls countEnd at the end.
func (r *run) count() (countEnd func(*fleet.Result)) {
	m := r.worker.config.Metrics
	if m == nil {
		return func(*fleet.Result) {}
	}
	m.CountStart(r.attempt)
	began := time.Now()
	return func(result *fleet.Result) { m.CountEnd(r.attempt, result, time.Since(began)) }
}

// complete reports the end of the attempt to the engine, and returns the result if it counts.
func (r *run) complete(ctx context.Context, result *fleet.Result, err error) *fleet.Result {
	if lost := (*lostError)(nil); errors.As(err, &lost) {
		r.logger.Warn("another worker has the task now; the attempt of this worker has ended", "error", err)
		return nil
	}
	if err != nil {
		if result = r.giveUp(ctx, err); result == nil {
			r.logger.Warn("the task goes back", "error", err)
			r.countReturn()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	r.account(ctx, result)
	switch err := r.worker.config.Engine.Complete(ctx, r.attempt, result); {
	case errors.Is(err, fleet.ErrLost):
		r.logger.Warn("another worker has the task now; the result of this worker does not count")
		return nil
	case err != nil: // another worker finds the log as it is
		r.logger.Error("cannot store the result of the task", "error", err)
		return nil
	case result != nil && len(result.Held) > 0:
		r.logger.Info("the task waits for a person", "calls", len(result.Held))
	case result != nil:
		r.logger.Info("the task has ended", "outcome", result.Outcome, "reason", result.Reason)
	}
	return result
}

// countReturn counts that the worker gives the task back, unless it ends.
func (r *run) countReturn() {
	if m := r.worker.config.Metrics; m != nil && r.life.Err() == nil {
		m.CountReturn(r.attempt)
	}
}

// giveUp returns the end of a task that was cancelled, or that one worker after the other gives back before it has a
// turn; nil if another one may try. The log decides how a task has ended that has begun: a task whose log cannot be
// opened goes back. A worker that ends gives back what it has, and that says nothing about the task; neither does
// trouble of the budget, or of the worker itself.
func (r *run) giveUp(ctx context.Context, err error) *fleet.Result {
	switch {
	case r.startedTurn, r.life.Err() != nil,
		r.attempt.Cancel == "" && (r.attempt.Returns < maxReturns || isWorkerSpecific(err)):
		return nil
	}
	result, failErr := r.fail(ctx, fmt.Errorf("%d workers have tried: %w", r.attempt.Returns+1, err))
	if failErr != nil {
		r.logger.Warn("cannot end a task that no worker can begin", "error", failErr)
	}
	return result
}

// isWorkerSpecific reports whether an error is about the worker and not about the task: another worker may be able to
// begin it.
func isWorkerSpecific(err error) bool {
	return errors.As(err, new(*budgetError)) || errors.As(err, new(*fleet.ForeignError))
}

// work opens the session, does the remaining work, and closes it. Without a result and
// without an error, the task must continue on another worker.
func (r *run) work(ctx context.Context) (*fleet.Result, error) {
	o, err := r.openInGoroutine(ctx)
	if err != nil {
		return nil, err
	}
	if o.session == nil {
		return o.result, o.err
	}
	defer r.session.Store(nil)
	result, err := r.finish(o.session, o.place)
	return r.close(ctx, o, result, err)
}

// openInGoroutine opens the session in a goroutine of its own, and waits for it: opening a session needs a deep
// stack, which a turn that waits for a model should not keep.
func (r *run) openInGoroutine(ctx context.Context) (opening, error) {
	var o opening
	done := make(chan error, 1)
	go func() { done <- scope.Guard(func() error { o = r.open(ctx); return nil }) }()
	err := <-done
	return o, err
}

// opening is the beginning of an attempt: a session, or, without one, the task's result or the error.
type opening struct {
	session *settle.Session
	place   *fleet.Place
	result  *fleet.Result
	err     error
}

// open opens the session, in its workspace and within its budget.
func (r *run) open(ctx context.Context) (o opening) {
	if r.attempt.Rescued { // first, since a workspace or an executor may take long
		if _, err := r.settle(ctx, nil); err != nil {
			return opening{err: r.cause(err)}
		}
	}
	attempt, err := r.attempt, r.guardBudget()
	if err == nil {
		attempt, o.place, err = r.prepare()
	}
	var config settle.SessionConfig
	if err == nil {
		config, err = r.worker.config.Session(r.life, attempt)
	}
	if err != nil {
		o.result, o.err = r.fail(ctx, err)
		return o
	}
	r.limitTurns(&config)
	r.watchGates(&config)
	if r.worker.config.Hold && config.Approver == nil && !config.Attended {
		config.Approver = holder{r}
	}
	r.hooks = config.Hooks != nil
	id := r.attempt.Task.Session
	r.worker.config.Logs.Grant(id, r.attempt.Epoch)
	if o.session, err = r.worker.host.Session(r.life, id, config); err != nil {
		return opening{err: r.cause(fmt.Errorf("cannot open session %s: %w", id, err))}
	}
	r.session.Store(o.session)
	return o
}

// close closes the session, and stores the workspace.
func (r *run) close(ctx context.Context, o opening, result *fleet.Result, err error) (*fleet.Result, error) {
	closeCtx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	by := "worker"
	if errors.Is(err, errHeld) {
		by = holdRequester
	}
	if result != nil {
		if dropErr := r.dropInputs(o.session); dropErr != nil {
			result, err = nil, r.cause(dropErr)
		}
	}
	closeErr := o.session.CloseFor(closeCtx, event.Shutdown, by)
	if closeErr != nil && (err == nil || by == holdRequester) {
		r.logger.Warn("the session is not closed in good order", "error", closeErr)
	}
	if errors.Is(err, errHeld) {
		result, err = r.resultAfterTurn(o.session)
	}
	return r.keep(ctx, o.place, r.progress(o.session), result, err)
}

// fail returns the end of a task that cannot begin on any worker, or that was cancelled before the attempt: each
// worker can end such a task, because that runs nothing of it. Recovery still ends a dead worker's turn in the log.
func (r *run) fail(ctx context.Context, err error) (*fleet.Result, error) {
	switch {
	case errors.Is(err, fleet.ErrLost):
		return nil, &lostError{err}
	case r.life.Err() != nil, r.attempt.Cancel == "" && isWorkerSpecific(err):
		return nil, r.cause(err)
	}
	var p progress
	if r.attempt.Number > 1 {
		var settleErr error
		if p, settleErr = r.settle(ctx, r.dropInputs); settleErr != nil {
			return nil, r.cause(settleErr)
		}
	}
	switch {
	case p.result != nil:
		return p.result, nil
	case r.attempt.Cancel != "":
		return p.cancelledResult(r.attempt.Cancel), nil
	}
	if requested := r.cancellation(); requested != nil {
		return p.cancelledResult(requested.By), nil
	}
	if cause := budgetCause(err); cause != nil {
		return p.resultOf(cause), nil
	}
	return p.failure(fmt.Sprintf("cannot begin: %v", err)), nil
}

// settle opens the session and closes it, so that what a dead worker left has its
// endings, and returns what its log says of the task. If the task ends with that, drop removes the inputs
// that it leaves.
func (r *run) settle(ctx context.Context, drop func(*settle.Session) error) (progress, error) {
	session := r.attempt.Task.Session
	r.worker.config.Logs.Grant(session, r.attempt.Epoch)
	s, err := r.worker.host.Session(r.life, session, settle.SessionConfig{
		Model: model.Config{
			Provider:     noModel{},
			ProviderName: "none",
			Name:         "none",
		},
		Permission: settle.Deny,
		WorkDir:    cmp.Or(r.attempt.Task.Dir, string(filepath.Separator)),
		MustExist:  true,
		Toolbox: func(info settle.SessionInfo) (settle.Toolbox, error) {
			return settle.Toolbox{
				Sweep: func(released []string) []int { return shell.Sweep(info.Marker, released) },
			}, nil
		},
	})
	switch missing := (*settle.MissingError)(nil); {
	case errors.As(err, &missing):
		return progress{}, nil
	case err != nil:
		return progress{}, err
	}
	p := r.progress(s)
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	if drop != nil {
		err = drop(s)
	}
	return p, errors.Join(err, s.CloseFor(ctx, event.Shutdown, "worker"))
}

// dropInputs removes the inputs of the task that no turn has taken: the task ends, or waits for a person and has
// none. Otherwise the session's next turn, which is another task's, would take a prompt that was cancelled, and
// run a call that was approved for this task.
func (r *run) dropInputs(s *settle.Session) error {
	var ids []string
	s.View(func(state event.State) {
		for _, i := range state.Waiting {
			if isInputOf(r.attempt.Task.Input, i.ID) {
				ids = append(ids, i.ID)
			}
		}
	})
	for _, id := range ids {
		if _, err := s.Drop(id, "fleet"); err != nil {
			return fmt.Errorf("cannot drop input %s of task %s, which has ended: %w", id, r.attempt.TaskID, err)
		}
	}
	return nil
}

// noModel is for sessions that begin no turn.
type noModel struct{}

// Stream implements [model.Provider].
func (noModel) Stream(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{}, errors.New("there is no model")) }
}

// cause returns the reason for which the attempt must end, or the error.
func (r *run) cause(err error) error {
	if cause := context.Cause(r.life); cause != nil {
		return cause
	}
	return err
}

// finish runs the task's input to its end, unless it has ended.
func (r *run) finish(s *settle.Session, at *fleet.Place) (*fleet.Result, error) {
	turn, result, err := r.begin(s, at)
	if turn == nil {
		return result, err
	}
	if err := r.await(s, turn); err != nil {
		return nil, err
	}
	return r.resultAfterTurn(s)
}

// resultAfterTurn returns the task's result after its turn.
func (r *run) resultAfterTurn(s *settle.Session) (*fleet.Result, error) {
	if result := r.progress(s).result; result != nil {
		return result, nil
	}
	return nil, r.cause(errors.New("the session's log has no result of the task"))
}

// begin submits the task's input, or one that continues it. Without a turn, the task has the result,
// or there is an error.
func (r *run) begin(s *settle.Session, at *fleet.Place) (*settle.Turn, *fleet.Result, error) {
	p := r.progress(s)
	switch {
	case p.result != nil:
		return nil, p.result, nil
	case p.isAccepted && r.attempt.Cancel != "":
		return nil, p.cancelledResult(r.attempt.Cancel), nil
	case r.attempt.Lost > r.worker.config.Lost:
		return nil, p.failure(fmt.Sprintf(
			"it was lost %d times: its worker died, stood still, or did not reach Temporal", r.attempt.Lost,
		)), nil
	}
	r.spentBefore = p.usage
	text, id := r.attempt.Task.Prompt, r.attempt.Task.Input
	if p.isAccepted {
		hasVerdicts, err := r.decide(s)
		if err != nil {
			return nil, nil, r.cause(err)
		}
		text, id = resumption(p, hasVerdicts), fmt.Sprintf("%s~%d", id, r.attempt.Epoch)
	}
	turn, err := s.Submit(r.life, note(s, at)+r.reattach(s)+text, settle.WithID(id), settle.From("fleet"))
	if err != nil {
		return nil, nil, r.cause(err)
	}
	r.startedTurn = true
	return turn, nil, nil
}

// reattach takes over results of an earlier worker's calls from the executor, and returns
// the text about them for the model; "" if the log has them all.
func (r *run) reattach(s *settle.Session) string {
	results := s.Reattach(r.life)
	if len(results) == 0 {
		return ""
	}
	unknown := map[string]bool{}
	s.View(func(state event.State) {
		for _, t := range state.Turns {
			for _, i := range t.Items {
				unknown[i.ID] = i.Effects == event.EffectsUnknown
			}
		}
	})
	var text strings.Builder
	for _, recovered := range results {
		if recovered.Job != "" || unknown[recovered.Call] {
			text.WriteString("[Reattached: " + recovered.Text + "]\n\n")
		}
	}
	return text.String()
}

// await waits for the turn's end, which a cancellation of the task interrupts. A turn that only waits for a
// person is [errHeld]. It waits in this goroutine, since each goroutine of a turn that waits has a stack.
func (r *run) await(s *settle.Session, turn *settle.Turn) error {
	interruptDone := make(chan struct{})
	stopInterrupt := context.AfterFunc(r.taskCtx, func() {
		defer close(interruptDone)
		r.interrupt(s, turn)
	})
	_, err := turn.Wait(r.waitCtx)
	if !stopInterrupt() {
		<-interruptDone // it ends with the turn, or with the attempt's life
	}
	if err != nil && errors.Is(context.Cause(r.waitCtx), errHeld) {
		return errHeld
	}
	return r.turnError(err)
}

// interrupt interrupts the turn for the requester of the task's cancellation.
func (r *run) interrupt(s *settle.Session, turn *settle.Turn) {
	requested := r.cancellation()
	if requested == nil {
		return
	}
	i := settle.Interruption{By: requested.By, Input: turn.Input()}
	if _, err := s.Interrupt(r.life, i); err != nil {
		r.logger.Warn("cannot interrupt the turn", "error", err)
	}
}

// turnError returns the error of a turn that has ended, with the error of its wait: nil if the log has its ending.
func (r *run) turnError(err error) error {
	if cause := context.Cause(r.life); cause != nil {
		return cause
	}
	if cause := (*event.Cause)(nil); err == nil || errors.As(err, &cause) {
		if failure := (*event.Failure)(nil); errors.As(err, &failure) && failure.Name == event.NameJournal {
			return &lostError{failure}
		}
		return nil
	}
	return err
}

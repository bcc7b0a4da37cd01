package worker

import (
	"context"
	"errors"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
)

// Budgets bound what the tasks of a batch take together.
type Budgets interface {
	// Record records the usage of a task so far, without waiting, and returns the cause
	// with which it must end; nil if it can continue.
	Record(batch, taskID string, sum event.Summary) *event.Cause
	// Store is Record that waits until the usage of the task is in the database.
	Store(ctx context.Context, batch, taskID string, sum event.Summary) (*event.Cause, error)
}

// budgeted reports whether the task may have a budget.
func (r *run) budgeted() bool {
	return r.worker.config.Budgets != nil && r.attempt.Task.Batch != ""
}

// guardBudget returns an error that has the task end before it begins, if its batch
// has nothing left.
func (r *run) guardBudget() error {
	if !r.budgeted() {
		return nil
	}
	cause, err := r.worker.config.Budgets.Store(r.life, r.attempt.Task.Batch, r.attempt.TaskID, event.Summary{})
	switch {
	case err != nil:
		return &unsettledError{err}
	case cause != nil:
		return cause
	}
	return nil
}

// unsettledError reports that it is unknown whether a task can begin: another worker must
// find out.
type unsettledError struct{ err error }

func (e *unsettledError) Error() string { return e.err.Error() }
func (e *unsettledError) Unwrap() error { return e.err }

// bound has the turns of a session end when the batch has nothing left.
func (r *run) bound(c *settle.SessionConfig) {
	if r.budgeted() {
		c.Limits.Outside = func(turn event.Summary) *event.Cause {
			sum := r.before
			sum.Join(turn)
			return r.worker.config.Budgets.Record(r.attempt.Task.Batch, r.attempt.TaskID, sum)
		}
	}
}

// account stores what the task took in all.
func (r *run) account(ctx context.Context, result *fleet.Result) {
	if result == nil || !r.budgeted() {
		return
	}
	a := r.attempt
	if _, err := r.worker.config.Budgets.Store(ctx, a.Task.Batch, a.TaskID, result.Summary); err != nil {
		r.logger.Warn("what the task took may not count for its batch", "error", err)
	}
}

// spent returns the cause with which a batch's budget ends a task.
func spent(err error) *event.Cause {
	if cause := (*event.Cause)(nil); errors.As(err, &cause) && cause.Reason == event.LimitReached {
		return cause
	}
	return nil
}

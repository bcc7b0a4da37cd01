package worker

import (
	"context"
	"errors"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
)

// Budgets bounds the usage of the tasks of each batch.
type Budgets interface {
	// Record records the usage of a task so far, without waiting, and returns the cause
	// with which it must end; nil if it can continue.
	Record(batch, taskID string, sum event.Summary) *event.Cause
	// Store is Record that waits until the usage of the task is in the database.
	Store(ctx context.Context, batch, taskID string, sum event.Summary) (*event.Cause, error)
}

// hasBudget reports whether the task may have a budget.
func (r *run) hasBudget() bool {
	return r.worker.config.Budgets != nil && r.attempt.Task.Batch != ""
}

// guardBudget returns an error that ends the task before it begins, if its batch
// has nothing left.
func (r *run) guardBudget() error {
	if !r.hasBudget() {
		return nil
	}
	cause, err := r.worker.config.Budgets.Store(r.life, r.attempt.Task.Batch, r.attempt.TaskID, event.Summary{})
	switch {
	case err != nil:
		return &budgetError{err}
	case cause != nil:
		return cause
	}
	return nil
}

// budgetError reports that the budget of a task could not be read, so that it is unknown whether the
// task can begin: another worker must find out.
type budgetError struct{ err error }

func (e *budgetError) Error() string { return e.err.Error() }
func (e *budgetError) Unwrap() error { return e.err }

// limitTurns sets a limit that ends the turns of a session when the batch has nothing left.
func (r *run) limitTurns(c *settle.SessionConfig) {
	if r.hasBudget() {
		c.Limits.Outside = func(turn event.Summary) *event.Cause {
			sum := r.spentBefore
			sum.Join(turn)
			return r.worker.config.Budgets.Record(r.attempt.Task.Batch, r.attempt.TaskID, sum)
		}
	}
}

// account stores the total usage of the task.
func (r *run) account(ctx context.Context, result *fleet.Result) {
	if result == nil || !r.hasBudget() {
		return
	}
	a := r.attempt
	if _, err := r.worker.config.Budgets.Store(ctx, a.Task.Batch, a.TaskID, result.Summary); err != nil {
		r.logger.Warn("the usage of the task may not count for its batch", "error", err)
	}
}

// budgetCause returns the cause with which a batch's budget ends a task.
func budgetCause(err error) *event.Cause {
	if cause := (*event.Cause)(nil); errors.As(err, &cause) && cause.Reason == event.LimitReached {
		return cause
	}
	return nil
}

package worker

import (
	"context"
	"errors"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
)

// Budgets bound what the units of a batch take together.
type Budgets interface {
	// Spent records the usage of a unit so far, without waiting, and returns the cause
	// with which it must end; nil if it can continue.
	Spent(batch, unit string, sum event.Summary) *event.Cause
	// Settle is Spent that waits until what the unit has taken is stored.
	Settle(ctx context.Context, batch, unit string, sum event.Summary) (*event.Cause, error)
}

// budgeted reports whether the unit may have a budget.
func (r *run) budgeted() bool {
	return r.worker.config.Budgets != nil && r.attempt.Task.Batch != ""
}

// guardBudget returns an error that has the unit end before it begins, if its batch
// has nothing left.
func (r *run) guardBudget() error {
	if !r.budgeted() {
		return nil
	}
	cause, err := r.worker.config.Budgets.Settle(r.life, r.attempt.Task.Batch, r.attempt.Unit, event.Summary{})
	switch {
	case err != nil:
		return &unsettledError{err}
	case cause != nil:
		return cause
	}
	return nil
}

// unsettledError reports that it is unknown whether a unit can begin: another worker must
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
			return r.worker.config.Budgets.Spent(r.attempt.Task.Batch, r.attempt.Unit, sum)
		}
	}
}

// account stores what the unit took in all.
func (r *run) account(ctx context.Context, result *fleet.Result) {
	if result == nil || !r.budgeted() {
		return
	}
	if _, err := r.worker.config.Budgets.Settle(ctx, r.attempt.Task.Batch, r.attempt.Unit, result.Summary); err != nil {
		r.logger.Warn("what the task took may not count for its batch", "error", err)
	}
}

// spent returns the cause with which a batch's budget ends a unit.
func spent(err error) *event.Cause {
	if cause := (*event.Cause)(nil); errors.As(err, &cause) && cause.Reason == event.LimitReached {
		return cause
	}
	return nil
}

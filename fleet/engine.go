package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Engine takes tasks and gives attempts at them to workers. Package engine has the one that
// runs on Temporal; tests wrap it.
type Engine interface {
	// Submit takes tasks that are complete, all or none, and returns how many of
	// them were not known. The tasks are durable then.
	Submit(ctx context.Context, tasks []Task) (fresh int, err error)
	// Cancel asks for the end of a task, and reports whether it had not ended. One
	// that no worker has had ends at once.
	Cancel(ctx context.Context, taskID, by string) (bool, error)
	// State returns a task. One that is not known is an [*UnknownError].
	State(ctx context.Context, taskID string) (TaskStatus, error)
	// Complete ends an attempt: with a result the task has ended, with nil it is
	// for another worker. An attempt that another has followed is an [ErrLost].
	Complete(ctx context.Context, a Attempt, r *Result) error
	// Work gives attempts to a worker until ctx ends and the last attempt has returned.
	Work(ctx context.Context, w Work) error
}

// Work is what a worker takes.
type Work struct {
	// Worker names the worker.
	Worker string
	// Slots is how many attempts run at a time.
	Slots int
	// Drain is how long the attempts that run may continue after the worker was asked to
	// end; the rest end with [ErrShutdown].
	Drain time.Duration
	// Hurry, if set, ends the drain early when it is closed.
	Hurry <-chan struct{}
	// Run runs an attempt and completes it. The attempt must end early if ctx does: its cause
	// is [ErrShutdown], or an [ErrLost] if the task is another worker's. If the task is cancelled,
	// cancelled ends with a [*CancelledError].
	Run func(ctx, cancelled context.Context, a *Attempt)
	// Progress, if set, returns how far an attempt is, as a comparable value. An attempt without
	// progress for hours goes to another worker.
	Progress func(taskID string) any
}

// ErrLost says that an attempt is over: another has followed it.
var ErrLost = errors.New("another worker has the task")

// CancelledError says that a task was cancelled, and names the requester.
type CancelledError struct{ By string }

func (e *CancelledError) Error() string { return "cancelled by " + e.By }

// ErrShutdown says that an attempt ends because its worker does.
var ErrShutdown = errors.New("the worker shuts down")

// ForeignError says that a task is for workers of another kind. The worker gives it back, unless it was cancelled.
type ForeignError struct{ Err error }

func (e *ForeignError) Error() string { return e.Err.Error() }
func (e *ForeignError) Unwrap() error { return e.Err }

// UnknownError says that there is no such task.
type UnknownError struct{ TaskID string }

func (e *UnknownError) Error() string { return fmt.Sprintf("there is no task %q", e.TaskID) }

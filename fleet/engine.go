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
	// Submit accepts complete tasks, all or none, and returns the number of new
	// ones. The tasks are durable then.
	Submit(ctx context.Context, tasks []Task) (added int, err error)
	// Cancel requests the end of a task, and reports whether it was open. A task that
	// no worker has had ends at once.
	Cancel(ctx context.Context, taskID, by string) (bool, error)
	// State returns a task. An unknown task is an [*UnknownError].
	State(ctx context.Context, taskID string) (TaskStatus, error)
	// Complete ends an attempt: with a result the task has ended, with nil it is
	// for another worker. An attempt that another has followed is an [ErrLost].
	Complete(ctx context.Context, a Attempt, r *Result) error
	// Work gives attempts to a worker until ctx ends and the last attempt has returned.
	Work(ctx context.Context, w Work) error
}

// Work has the functions and limits of a worker that runs attempts.
type Work struct {
	// Worker names the worker.
	Worker string
	// Slots is the maximum number of attempts that run at a time.
	Slots int
	// Drain is the time for which the attempts that run may continue after the worker's shutdown
	// has begun; the rest end with [ErrShutdown].
	Drain time.Duration
	// Hurry, if set, ends the drain early when it is closed.
	Hurry <-chan struct{}
	// Run runs an attempt and completes it. The attempt must end early if ctx does: its cause
	// is [ErrShutdown], or an [ErrLost] if the task is another worker's. If the task is cancelled,
	// taskCtx ends with a [*CancelledError].
	Run func(ctx, taskCtx context.Context, a *Attempt)
	// Ready, if set, is called once, when the engine can give attempts to the worker.
	Ready func()
	// Progress, if set, returns the progress of an attempt as a comparable value. An attempt without
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

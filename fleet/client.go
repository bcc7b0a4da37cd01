package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settle-agent/settle/event"
)

const (
	// submitSize is the number of tasks that are sent to the engine at a time.
	submitSize = 500
	// minWaitDelay and maxWaitDelay bound the wait of [Wait] between two queries.
	minWaitDelay, maxWaitDelay = 20 * time.Millisecond, time.Second
)

// TaskError says which task cannot be submitted, and why. Nothing was submitted.
type TaskError struct {
	// Task is its place among the tasks, from 0.
	Task int
	Err  error
}

func (e *TaskError) Error() string { return fmt.Sprintf("cannot submit task %d: %v", e.Task, e.Err) }
func (e *TaskError) Unwrap() error { return e.Err }

// Submit submits tasks and returns the ids of their tasks, in the order of the
// tasks. Without an error all of them are durable. A task that is wrong is a
// [*TaskError], and none is submitted then. After any other error some may be: the
// ids that were submitted for certain are returned with it, and submitting the same
// tasks again, with their sessions named, changes nothing.
//
// The context bounds the call, not the tasks.
func Submit(ctx context.Context, e Engine, tasks ...Task) (ids []string, err error) {
	complete := make([]Task, len(tasks))
	seen := map[string]bool{}
	for n, t := range tasks {
		if complete[n], err = t.Complete(); err == nil && seen[complete[n].ID()] {
			err = fmt.Errorf("another one has its id %s", complete[n].ID())
		}
		if err != nil {
			return nil, &TaskError{Task: n, Err: err}
		}
		seen[complete[n].ID()] = true
	}
	for len(complete) > 0 {
		part := complete[:min(submitSize, len(complete))]
		complete = complete[len(part):]
		if _, err := e.Submit(ctx, part); err != nil {
			return ids, err
		}
		for _, t := range part {
			ids = append(ids, t.ID())
		}
	}
	return ids, nil
}

// IncompleteError says that a task has ended and has not completed, or that it waits for a person.
type IncompleteError struct{ Task TaskStatus }

func (e *IncompleteError) Error() string {
	reason := "it has no result"
	if e.Task.State == Held {
		return fmt.Sprintf("task %s waits for a person: settle-fleet approvals lists its calls", e.Task.ID)
	}
	if r := e.Task.Result; r != nil {
		reason = cmp.Or(r.Message, string(r.Outcome))
	}
	return fmt.Sprintf("task %s has not completed: %s", e.Task.ID, reason)
}

// Wait waits until a task has ended or waits for a person, and returns it. A task that did not complete is an
// [*IncompleteError], which has the task as well; an unknown task is an [*UnknownError]. If
// ctx ends first, the error is its cause, and the task continues. Wait continues while the
// engine cannot be reached.
func Wait(ctx context.Context, e Engine, taskID string) (TaskStatus, error) {
	for delay := minWaitDelay; ; delay = min(2*delay, maxWaitDelay) {
		u, err := e.State(ctx, taskID)
		switch {
		case err == nil && u.State == Held,
			err == nil && u.State == Ended && (u.Result == nil || u.Result.Outcome != event.Completed):
			return u, &IncompleteError{Task: u}
		case err == nil && u.State == Ended:
			return u, nil
		case errors.As(err, new(*UnknownError)):
			return TaskStatus{}, err
		}
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return u, fmt.Errorf("task %s has not ended: %w", taskID, errors.Join(context.Cause(ctx), err))
		}
	}
}

package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
)

// Workspaces makes the workspaces of tasks with a repository.
type Workspaces interface {
	// Prepare returns the session's workspace, and makes it if it is missing.
	Prepare(context.Context, fleet.Attempt) (fleet.Place, error)
	// Checkpoint stores the state of the workspace after a turn. If another worker has
	// the session, that is an [fleet.ErrLost].
	Checkpoint(ctx context.Context, a fleet.Attempt, at fleet.Place, turn string) (fleet.Checkpoint, error)
}

// prepare makes the workspace of the attempt's task if it is missing, and returns the attempt
// with the directory of the workspace; nil if the task has no repository.
func (r *run) prepare() (fleet.Attempt, *fleet.Place, error) {
	a := r.attempt
	if a.Task.Repo == "" {
		return a, nil, nil
	}
	if r.worker.config.Workspaces == nil {
		return a, nil, fmt.Errorf("the task works in the repository %s, and this worker has no workspaces", a.Task.Repo)
	}
	ctx, cancel := context.WithCancel(r.life)
	defer cancel()
	defer context.AfterFunc(r.taskCtx, cancel)()
	place, err := r.worker.config.Workspaces.Prepare(ctx, a)
	if err != nil {
		if requested := r.cancellation(); requested != nil {
			err = requested
		}
		return a, nil, err
	}
	if place.Note != "" {
		r.logger.Warn("the workspace was created again", "note", place.Note)
	}
	a.Task.Dir = place.Dir
	return a, &place, nil
}

// keep stores the state of the workspace after the last process in it has ended: also if
// the task continues on another worker, unless that worker has it already.
func (r *run) keep(
	ctx context.Context, at *fleet.Place, p progress, result *fleet.Result, err error,
) (*fleet.Result, error) {
	if errors.As(err, new(*lostError)) || p.turn == "" {
		return result, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(r.life, func() { time.AfterFunc(endTimeout, cancel) }) // the worker shuts down
	defer stop()
	c, checkpointErr := r.checkpoint(ctx, at, p.turn)
	if checkpointErr != nil {
		return nil, checkpointErr
	}
	if result != nil {
		result.Checkpoint = c
	}
	return result, err
}

// checkpoint stores the workspace after the turn. A failure is reported, and is no reason
// to run anything again.
func (r *run) checkpoint(ctx context.Context, at *fleet.Place, turn string) (*fleet.Checkpoint, error) {
	if at == nil {
		return nil, nil // there is none
	}
	if at.Note != "" && !r.startedTurn && at.Turn != turn {
		return &fleet.Checkpoint{
			Base:  at.Base,
			Turn:  turn,
			Error: "the workspace was lost before the changes of the turn were stored",
		}, nil
	}
	c, err := r.worker.config.Workspaces.Checkpoint(ctx, r.attempt, *at, turn)
	switch {
	case errors.Is(err, fleet.ErrLost):
		return nil, &lostError{err}
	case err != nil:
		r.logger.Warn("the workspace is not stored", "error", err)
		return &fleet.Checkpoint{Base: at.Base, Turn: turn, Error: err.Error()}, nil
	}
	return &c, nil
}

// note returns the text about the workspace for the model's next input; "" if there is
// nothing to report, or the session had no other workspace.
func note(s *settle.Session, at *fleet.Place) string {
	if at == nil || at.Note == "" {
		return ""
	}
	turns := 0
	s.View(func(state event.State) { turns = len(state.Turns) })
	if turns == 0 {
		return ""
	}
	return "[" + at.Note + "]\n\n"
}

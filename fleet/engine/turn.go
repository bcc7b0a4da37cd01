package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/internal/scope"
)

const (
	// beatsInSilence is the number of heartbeats that a turn sends within its heartbeat timeout.
	beatsInSilence = 3
	// maxStall is the maximum time without progress of an attempt. It is longer than any wait without an
	// event: an attempt of a model request may take an hour.
	maxStall = 2 * time.Hour
	// promoteDelay is the age of a turn at which its session is promoted. Shorter turns do not pay for it,
	// unless tasks wait for longer than maxWait: then the session is promoted before its turn begins.
	promoteDelay, maxWait = 500 * time.Millisecond, time.Second
	// lookTimeout bounds the query of a task's state after an attempt.
	lookTimeout = 30 * time.Second
)

// turn is the activity of one attempt:
//
//	a heartbeat ─► Claim ─► Run ─► Standing ─► what Postgres says goes to the workflow
//	    └─ refused, or none for the silence: the attempt ends, and counts as lost
//
// The SDK's goroutine ends with the claim (activity.ErrResultPending), and another one runs the attempt: the stack
// of the first one, with what leads to an activity, takes 16 KB for as long as the activity runs.
//
// A process that stood still can find activities in its polls that Temporal has given up. Such
// a one must not claim its task, which would fence the worker that has it now: so the first
// heartbeat comes before the claim.
type turn struct {
	work   *work
	taskID string
	life   context.Context // the attempt's; its cause is the reason of an early end
	end    context.CancelCauseFunc

	taskCtx context.Context // ends with a [*fleet.CancelledError] if the task is cancelled
	cancel  context.CancelCauseFunc

	isPromoted bool // the session was promoted before the turn began

	progress   any       // of the last heartbeat, and
	progressAt time.Time // when progress changed; both belong to the call that runs
}

// errNoHeartbeat ends an attempt of which Temporal has not heard for its silence: another worker
// has it, or soon will.
var errNoHeartbeat = fmt.Errorf("no heartbeat reached Temporal in time: %w", fleet.ErrLost)

// errStale is the error of an activity that Temporal does not know any more, or cannot be asked
// about.
var errStale = errors.New("no heartbeat reached Temporal before the turn began; another worker runs it")

// errStalled ends an attempt whose log does not grow.
var errStalled = fmt.Errorf("no progress for %s: %w", maxStall, fleet.ErrLost)

// turn implements the activity settle.turn.
func (w *work) turn(ctx context.Context, in TurnInput) (TurnOutput, error) {
	t := &turn{work: w, taskID: in.TaskID}
	t.life, t.end = context.WithCancelCause(context.Background())
	t.taskCtx, t.cancel = context.WithCancelCause(context.Background())
	info := activity.GetInfo(ctx)
	a, stop, err := t.claim(&info, in)
	if err != nil {
		t.close(stop)
		return TurnOutput{}, w.engine.private("cannot run a task; Temporal schedules it again", in.TaskID, err)
	}
	w.slots.keep()
	w.turnGroup.Go(func() { // Work waits for it
		defer w.slots.release()
		t.run(info.TaskToken, a, stop)
	})
	return TurnOutput{}, activity.ErrResultPending
}

// run runs the claimed attempt, if there is one, and completes the activity.
func (t *turn) run(token []byte, a *fleet.Attempt, stop func()) {
	if a != nil {
		if err := scope.Guard(func() error { t.work.Run(t.life, t.taskCtx, a); return nil }); err != nil {
			t.work.engine.logger.Error("a turn panicked", "task", t.taskID, "error", err)
		}
	}
	t.complete(token, a, stop)
}

// complete ends the heartbeats, and completes the activity with the state of the task.
func (t *turn) complete(token []byte, a *fleet.Attempt, stop func()) {
	e := t.work.engine
	out, err := t.work.output(context.Background(), t.taskID, a)
	t.close(stop)
	err = e.private("cannot read the state of a task; Temporal schedules it again", t.taskID, err)
	ctx, cancel := context.WithTimeout(context.Background(), endGrace)
	defer cancel()
	if err := e.client.CompleteActivity(ctx, token, out, err); err != nil {
		e.logger.Warn("cannot complete a turn in Temporal, which schedules it again", "task", t.taskID, "error", err)
	}
}

// close calls stop, if it is set, and ends the contexts of the attempt.
func (t *turn) close(stop func()) {
	if stop != nil {
		stop()
	}
	t.cancel(nil)
	t.end(nil)
}

// errPrivate is the error that Temporal receives for an error of the database, whose text can have addresses and
// names.
var errPrivate = errors.New("the worker could not use its database; the worker's log has the reason")

// private logs an error of an activity and returns what Temporal may store of it.
func (e *Engine) private(message, task string, err error) error {
	if err == nil || errors.Is(err, errStale) || errors.As(err, new(*temporal.ApplicationError)) {
		return err
	}
	e.logger.Warn(message, "task", task, "error", err)
	return errPrivate
}

// claim begins the heartbeats and takes the task; nil if it is not the task's turn. The caller calls
// stop, unless it is nil.
func (t *turn) claim(info *activity.Info, in TurnInput) (a *fleet.Attempt, stop func(), err error) {
	w := t.work
	claimCtx, done := context.WithTimeout(context.Background(), info.HeartbeatTimeout)
	defer done()
	if !t.begin(claimCtx, info) {
		return nil, nil, errStale
	}
	stopBeats := t.beat(info)
	if in.Cancel != "" {
		if err := t.cancelBefore(in); err != nil {
			return nil, stopBeats, err
		}
	}
	if !w.add(t) { // before it is claimed, so that no cancellation after that is missed
		t.end(fleet.ErrShutdown)
	}
	stop = func() {
		w.remove(t)
		stopBeats()
	}
	if a, err = w.engine.Index.Claim(claimCtx, in.TaskID, w.Worker); a != nil {
		w.idle.Store(a.Age < maxWait)
		a.Returns = in.Returns
	}
	return a, stop, err
}

// cancelBefore notes the cancellation of the task's session, unless the task was submitted after it.
func (t *turn) cancelBefore(in TurnInput) (err error) {
	x := t.work.engine.Index
	if in.Cancelled.IsZero() {
		_, err = x.Cancel(t.life, in.TaskID, in.Cancel)
	} else {
		_, err = x.CancelBefore(t.life, in.TaskID, in.Cancel, in.Cancelled)
	}
	if errors.As(err, new(*fleet.UnknownError)) {
		return nil
	}
	return err
}

// begin sends the first heartbeat, and reports whether Temporal has it. If tasks wait, it promotes
// the session meanwhile.
func (t *turn) begin(ctx context.Context, info *activity.Info) bool {
	timeout := info.HeartbeatTimeout / 2
	if t.work.idle.Load() {
		return t.beatOnce(ctx, info, timeout)
	}
	t.isPromoted = true
	var promotion sync.WaitGroup
	promotion.Go(func() { t.promote(ctx, info, timeout) }) // it is bounded
	defer promotion.Wait()
	return t.beatOnce(ctx, info, timeout)
}

// output returns the state of a task after an attempt, nil if there was none, as the result of the activity.
func (w *work) output(ctx context.Context, taskID string, a *fleet.Attempt) (out TurnOutput, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	s, err := w.engine.Index.Standing(ctx, taskID)
	if err != nil {
		return out, err
	}
	out = TurnOutput{Attempt: s.Attempt, Next: s.Next}
	switch {
	case s.State == fleet.Ended:
		out.Outcome, out.Reason = s.Outcome, s.Reason
	case s.Known && a != nil:
		out.Retry, out.Failed, out.Grown = true, !w.draining(), s.Seq > a.Seq
	}
	return out, nil
}

// beat sends heartbeats until stop is called, which waits for the last one. Each has a goroutine of its own,
// since a call to Temporal needs a deep stack, which a turn that waits should not keep.
func (t *turn) beat(info *activity.Info) (stop func()) {
	ctx, cancel := context.WithCancel(t.life)
	silence := info.HeartbeatTimeout
	pause := silence / beatsInSilence
	watchdog := time.AfterFunc(silence, func() { t.end(errNoHeartbeat) })
	var calls sync.Mutex // held during a call
	var next, promotion *time.Timer
	calls.Lock()
	defer calls.Unlock()
	next = time.AfterFunc(pause, func() {
		calls.Lock()
		defer calls.Unlock()
		if ctx.Err() != nil {
			return
		}
		sent := time.Now()
		if t.beatOnce(ctx, info, silence/2) {
			watchdog.Reset(time.Until(sent.Add(silence)))
		}
		next.Reset(time.Until(sent.Add(pause)))
	})
	if !t.isPromoted {
		promotion = time.AfterFunc(promoteDelay, func() {
			calls.Lock()
			defer calls.Unlock()
			if ctx.Err() == nil {
				t.promote(ctx, info, pause)
			}
		})
	}
	return func() {
		cancel()
		calls.Lock()
		defer calls.Unlock()
		next.Stop() // one that waits for calls ends at once
		watchdog.Stop()
		if promotion != nil {
			promotion.Stop()
		}
	}
}

// beatOnce sends a heartbeat, and reports whether Temporal has it.
func (t *turn) beatOnce(ctx context.Context, info *activity.Info, timeout time.Duration) bool {
	call, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var progress any
	if t.work.Progress != nil {
		progress = t.work.Progress(t.taskID)
	}
	if now := time.Now(); progress != t.progress {
		t.progress, t.progressAt = progress, now
	} else if progress != nil && now.Sub(t.progressAt) > maxStall {
		t.end(errStalled)
		return false
	}
	err := t.work.engine.client.RecordActivityHeartbeat(call, info.TaskToken, progress)
	switch {
	case err == nil || errors.Is(err, activity.ErrActivityPaused) || errors.Is(err, activity.ErrActivityReset):
		return true
	case errors.As(err, new(*temporal.CanceledError)):
		t.cancelledInTemporal(ctx)
		return true
	case isNotFound(err):
		t.end(fleet.ErrLost)
	case ctx.Err() == nil:
		t.work.engine.logger.Warn("cannot send a heartbeat to Temporal", "task", t.taskID, "error", err)
	}
	return false
}

// promote has the workflow of a session with a turn precede the workflows of sessions that have
// not begun. If the worker dies that has this workflow in memory, its next decision waits in
// the task queue of all workflows: after the start of a fleet, behind the whole backlog.
func (t *turn) promote(ctx context.Context, info *activity.Info, timeout time.Duration) {
	call, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := t.work.engine.client.WorkflowService().UpdateWorkflowExecutionOptions(
		call, &workflowservice.UpdateWorkflowExecutionOptionsRequest{
			Namespace: t.work.engine.options.Namespace,
			WorkflowExecution: &commonpb.WorkflowExecution{
				WorkflowId: info.WorkflowExecution.ID, RunId: info.WorkflowExecution.RunID,
			},
			WorkflowExecutionOptions: &workflowpb.WorkflowExecutionOptions{
				Priority: &commonpb.Priority{PriorityKey: urgentPriority},
			},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"priority.priority_key"}},
		},
	)
	if err != nil && ctx.Err() == nil {
		t.work.engine.logger.Debug("cannot promote a session in Temporal", "task", t.taskID, "error", err)
	}
}

// cancelledInTemporal has Postgres know of a cancellation that Temporal was asked for. Usually it
// does already.
func (t *turn) cancelledInTemporal(ctx context.Context) {
	c, err := t.work.engine.Index.Cancel(ctx, t.taskID, byTemporal)
	if err != nil {
		t.work.engine.logger.Warn("cannot cancel a task as in Temporal", "task", t.taskID, "error", err)
		return
	}
	if c.Running {
		t.cancel(&fleet.CancelledError{By: c.By})
	}
}

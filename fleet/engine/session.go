package engine

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/index"
)

// The names that histories have. They never change.
const (
	sessionWorkflow = "settle.session"
	turnActivity    = "settle.turn"
	taskSignal      = "task"   // with an [index.Ref]: the session has a task
	cancelSignal    = "cancel" // with a task's id: its turn must end
)

// byTemporal is the requester of a cancellation that somebody asked Temporal for.
const byTemporal = "temporal"

const (
	// maxTurns and maxSignals bound a run of the workflow: then it continues as new. The server
	// refuses a run more than 10,000 signals, and warns of histories with more than 10,000
	// events; a turn has about ten.
	maxTurns, maxSignals = 250, 1000
	// maxTurnTime bounds an activity in Temporal; what ends a turn is its limits.
	maxTurnTime = 365 * 24 * time.Hour
	// minDelay and maxDelay bound the pause after an attempt that could not run its task. It
	// doubles each time.
	minDelay, maxDelay = 200 * time.Millisecond, 30 * time.Second
	// urgentPriority is the priority of a turn that has begun, and usualPriority that of a turn that has not.
	urgentPriority, usualPriority = 1, 3
)

// Input is the input of a run of the workflow.
type Input struct {
	// Silence is the heartbeat timeout of turns.
	Silence time.Duration `json:"silence"`
	// Attributes says that the namespace has the search attributes.
	Attributes bool `json:"attributes,omitempty"`
	// The other fields are the state of the run before, if this one continues it.
	Next      *index.Ref `json:"next,omitempty"`
	Urgent    bool       `json:"urgent,omitempty"`
	Failures  int        `json:"failures,omitempty"`   // one after the other
	Returns   int        `json:"given_back,omitempty"` // times in a row, without an event
	Cancel    string     `json:"cancel,omitempty"`     // who has cancelled the session
	Cancelled time.Time  `json:"cancelled,omitzero"`   // when: tasks that were submitted later run
}

// TurnInput is the input of the activity.
type TurnInput struct {
	TaskID string `json:"unit"`
	// Cancel names the requester, if the task must end. Cancelled is the time of the request: a task that was
	// submitted later runs. Workflows that an older version has decided about do not say when.
	Cancel    string    `json:"cancel,omitempty"`
	Cancelled time.Time `json:"cancelled,omitzero"`
	// Returns is for [fleet.Attempt].
	Returns int `json:"given_back,omitempty"`
}

// TurnOutput is the result of the activity: the state of the task in Postgres.
type TurnOutput struct {
	Attempt int `json:"attempt,omitempty"`
	// Retry says that the task has not ended, Failed that the worker could not run it, and Grown that the log has
	// events of the attempt.
	Retry  bool `json:"again,omitempty"`
	Failed bool `json:"failed,omitempty"`
	Grown  bool `json:"grown,omitempty"`
	// Outcome and Reason are those of the task, if it has ended. The answer stays in Postgres.
	Outcome event.Outcome `json:"outcome,omitempty"`
	Reason  event.Reason  `json:"reason,omitempty"`
	// Next is the task of the session that is next; nil if all have ended.
	Next *index.Ref `json:"next,omitempty"`
}

// run is a run of the workflow.
type run struct {
	Input

	workflowCtx workflow.Context // canceled, if somebody cancels the workflow
	ctx         workflow.Context // never canceled: what was accepted ends
	tasks       workflow.ReceiveChannel
	cancels     workflow.ReceiveChannel

	pendingRef     *index.Ref // the last task that was signalled, and did not run yet
	turns, signals int
	outcome        event.Outcome // of the last task that has ended
}

// Session is the workflow of a session: it runs the turns of the session's tasks, one at a
// time, and ends when no task waits.
//
//	drain signals ─► no task: end
//	       ▲     └─► a task: activity settle.turn ─► the next task, or the same one again
//	       └───────────────────────────────────────┘
func Session(ctx workflow.Context, in Input) error {
	s := &run{Input: in, workflowCtx: ctx}
	s.ctx, _ = workflow.NewDisconnectedContext(ctx)
	s.tasks = workflow.GetSignalChannel(s.ctx, taskSignal)
	s.cancels = workflow.GetSignalChannel(s.ctx, cancelSignal)
	for s.drain(); s.Next != nil; s.drain() {
		if s.turns >= maxTurns || s.signals >= maxSignals || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(s.ctx, sessionWorkflow, s.Input)
		}
		s.turn()
	}
	if s.Attributes {
		// It fails only for a value that is no keyword.
		_ = workflow.UpsertTypedSearchAttributes(s.ctx, endAttributes(s.outcome)...)
	}
	if s.Cancel != "" {
		return temporal.NewCanceledError()
	}
	return nil
}

// drain receives the waiting signals. A cancellation is of a task that does not run.
func (s *run) drain() {
	for ref := (index.Ref{}); s.tasks.ReceiveAsync(&ref); ref = (index.Ref{}) {
		s.noteSignal(ref)
	}
	for taskID := ""; s.cancels.ReceiveAsync(&taskID); {
		s.signals++
	}
	if s.Next == nil {
		s.Next, s.pendingRef = s.pendingRef, nil
	}
	if s.workflowCtx.Err() != nil {
		s.cancel()
	}
}

// cancel notes that the workflow was cancelled.
func (s *run) cancel() {
	if s.Cancel == "" {
		s.Cancel, s.Cancelled = byTemporal, workflow.Now(s.ctx)
	}
}

// noteSignal notes the task of a signal.
func (s *run) noteSignal(ref index.Ref) {
	s.signals++
	s.pendingRef = &ref
}

// turn has a worker run the next task once, and decides what is next.
func (s *run) turn() {
	s.turns++
	ref := *s.Next
	ctx, cancel := workflow.WithCancel(workflow.WithActivityOptions(s.ctx, s.options(ref)))
	future := workflow.ExecuteActivity(ctx, turnActivity, TurnInput{
		TaskID: ref.TaskID, Cancel: s.Cancel, Cancelled: s.Cancelled, Returns: s.Returns,
	})
	s.await(future, ref.TaskID, cancel)
	var out TurnOutput
	err := future.Get(s.ctx, &out)
	timeout := (*temporal.TimeoutError)(nil)
	switch {
	case errors.As(err, &timeout) || temporal.IsCanceledError(err): // the worker died, or is not heard
		s.Urgent = true
	case err != nil || out.Retry && out.Failed:
		s.Urgent = s.Urgent || out.Attempt > 0
		s.Failures++
		switch {
		case out.Grown:
			s.Returns = 0
		case err == nil:
			s.Returns++
		}
		s.pause(ref.TaskID)
	case out.Retry:
		s.Urgent, s.Failures, s.Returns = true, 0, 0
	default:
		s.Urgent, s.Failures, s.Returns = false, 0, 0
		if out.Outcome != "" {
			s.outcome = out.Outcome
		}
		// A person may have decided about a held task before the activity returned: then it must run again.
		isHeld := out.Outcome == fleet.OutcomeHeld
		if s.pendingRef != nil && (s.pendingRef.TaskID == ref.TaskID && !isHeld || out.Next != nil) {
			s.pendingRef = nil // it has run, or Postgres had it when it returned the next task
		}
		s.Next = out.Next
	}
}

// options returns the options of the activity of a task's turn. The workflow schedules a lost turn
// again, instead of a retry, so that it precedes the turns that have not begun.
func (s *run) options(ref index.Ref) workflow.ActivityOptions {
	o := workflow.ActivityOptions{
		StartToCloseTimeout:   maxTurnTime,
		HeartbeatTimeout:      s.Silence,
		WaitForCancellation:   true,
		RetryPolicy:           &temporal.RetryPolicy{MaximumAttempts: 1},
		DisableEagerExecution: true,
		Summary:               ref.TaskID,
		Priority: temporal.Priority{
			PriorityKey: usualPriority, FairnessKey: fairnessKey(ref.Tenant), FairnessWeight: ref.Weight,
		},
	}
	if s.Urgent {
		o.Priority.PriorityKey = urgentPriority
	}
	return o
}

// await waits for the end of a task's turn. Meanwhile it receives signals, and cancels the turn
// if a signal or Temporal requests that.
func (s *run) await(future workflow.Future, taskID string, cancel workflow.CancelFunc) {
	for !future.IsReady() {
		wait := workflow.NewSelector(s.ctx).AddFuture(future, func(workflow.Future) {})
		s.listen(wait, taskID, cancel)
		if s.Cancel == "" {
			wait.AddReceive(s.workflowCtx.Done(), func(workflow.ReceiveChannel, bool) {
				s.cancel()
				cancel()
			})
		}
		wait.Select(s.ctx)
	}
}

// listen adds the signals to a selector.
func (s *run) listen(wait workflow.Selector, taskID string, cancel func()) {
	wait.AddReceive(s.tasks, func(c workflow.ReceiveChannel, _ bool) {
		var ref index.Ref
		c.Receive(s.ctx, &ref)
		s.noteSignal(ref)
	})
	wait.AddReceive(s.cancels, func(c workflow.ReceiveChannel, _ bool) {
		var cancelledID string
		c.Receive(s.ctx, &cancelledID)
		if s.signals++; cancelledID == taskID {
			cancel()
		}
	})
}

// pause waits before the next attempt at a task that could not be run, unless it is cancelled.
func (s *run) pause(taskID string) {
	delay := min(minDelay<<min(s.Failures-1, 10), maxDelay)
	timer, stop := workflow.WithCancel(s.ctx)
	future, isCancelled := workflow.NewTimer(timer, delay), false
	for !future.IsReady() && !isCancelled {
		wait := workflow.NewSelector(s.ctx).AddFuture(future, func(workflow.Future) {})
		s.listen(wait, taskID, func() { isCancelled = true })
		if s.Cancel == "" {
			wait.AddReceive(s.workflowCtx.Done(), func(workflow.ReceiveChannel, bool) {
				s.cancel()
				isCancelled = true
			})
		}
		wait.Select(s.ctx)
	}
	stop()
}

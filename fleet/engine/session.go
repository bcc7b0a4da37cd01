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
	// urgent is the priority of a turn that has begun, and usual that of others.
	urgent, usual = 1, 3
)

// Input is what a run of the workflow begins with.
type Input struct {
	// Silence is how long a turn may be without a heartbeat.
	Silence time.Duration `json:"silence"`
	// Attributes says that the namespace has the search attributes.
	Attributes bool `json:"attributes,omitempty"`
	// The others are the state of the run before, if this one continues it.
	Next      *index.Ref `json:"next,omitempty"`
	Urgent    bool       `json:"urgent,omitempty"`
	Failures  int        `json:"failures,omitempty"`   // one after the other
	GivenBack int        `json:"given_back,omitempty"` // times in a row, without an event
	Cancel    string     `json:"cancel,omitempty"`     // who has cancelled the session
	Cancelled time.Time  `json:"cancelled,omitzero"`   // when: tasks that were submitted later run
}

// TurnInput is what an activity is asked for.
type TurnInput struct {
	TaskID string `json:"unit"`
	// Cancel names the requester, if the task must end. Cancelled is when that was requested: a task that was
	// submitted later runs. Workflows that an older version has decided about do not say when.
	Cancel    string    `json:"cancel,omitempty"`
	Cancelled time.Time `json:"cancelled,omitzero"`
	// GivenBack is for [fleet.Attempt].
	GivenBack int `json:"given_back,omitempty"`
}

// TurnOutput is where the task is afterwards, as Postgres knows.
type TurnOutput struct {
	Attempt int `json:"attempt,omitempty"`
	// Retry says that the task has not ended, Failed that the worker could not run it, and Grown that the log has
	// events of the attempt.
	Retry  bool `json:"again,omitempty"`
	Failed bool `json:"failed,omitempty"`
	Grown  bool `json:"grown,omitempty"`
	// Outcome and Reason are how the task has ended. The answer stays in Postgres.
	Outcome event.Outcome `json:"outcome,omitempty"`
	Reason  event.Reason  `json:"reason,omitempty"`
	// Next is the task of the session that is next; nil if all have ended.
	Next *index.Ref `json:"next,omitempty"`
}

// run is a run of the workflow.
type run struct {
	Input

	outer   workflow.Context // canceled, if somebody cancels the workflow
	ctx     workflow.Context // never canceled: what was accepted ends
	tasks   workflow.ReceiveChannel
	cancels workflow.ReceiveChannel

	signalled      *index.Ref // the last task that was signalled, and did not run yet
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
	s := &run{Input: in, outer: ctx}
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
		_ = workflow.UpsertTypedSearchAttributes(s.ctx, ended(s.outcome)...)
	}
	if s.Cancel != "" {
		return temporal.NewCanceledError()
	}
	return nil
}

// drain takes the signals that have arrived. A cancellation is of a task that does not run.
func (s *run) drain() {
	for ref := (index.Ref{}); s.tasks.ReceiveAsync(&ref); ref = (index.Ref{}) {
		s.arrived(ref)
	}
	for taskID := ""; s.cancels.ReceiveAsync(&taskID); {
		s.signals++
	}
	if s.Next == nil {
		s.Next, s.signalled = s.signalled, nil
	}
	if s.outer.Err() != nil {
		s.cancel()
	}
}

// cancel notes that the workflow was cancelled.
func (s *run) cancel() {
	if s.Cancel == "" {
		s.Cancel, s.Cancelled = byTemporal, workflow.Now(s.ctx)
	}
}

func (s *run) arrived(ref index.Ref) {
	s.signals++
	s.signalled = &ref
}

// turn has a worker run the next task once, and decides what is next.
func (s *run) turn() {
	s.turns++
	ref := *s.Next
	ctx, cancel := workflow.WithCancel(workflow.WithActivityOptions(s.ctx, s.options(ref)))
	future := workflow.ExecuteActivity(ctx, turnActivity, TurnInput{
		TaskID: ref.TaskID, Cancel: s.Cancel, Cancelled: s.Cancelled, GivenBack: s.GivenBack,
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
			s.GivenBack = 0
		case err == nil:
			s.GivenBack++
		}
		s.pause(ref.TaskID)
	case out.Retry:
		s.Urgent, s.Failures, s.GivenBack = true, 0, 0
	default:
		s.Urgent, s.Failures, s.GivenBack = false, 0, 0
		if out.Outcome != "" {
			s.outcome = out.Outcome
		}
		// A person may have decided about a held task before the activity returned: then it must run again.
		held := out.Outcome == fleet.OutcomeHeld
		if s.signalled != nil && (s.signalled.TaskID == ref.TaskID && !held || out.Next != nil) {
			s.signalled = nil // it has run, or Postgres had it when it said what is next
		}
		s.Next = out.Next
	}
}

// options are those of the activity of a task's turn. A lost turn is scheduled again by the
// workflow and not by a retry, so that it precedes the turns that have not begun.
func (s *run) options(ref index.Ref) workflow.ActivityOptions {
	o := workflow.ActivityOptions{
		StartToCloseTimeout:   maxTurnTime,
		HeartbeatTimeout:      s.Silence,
		WaitForCancellation:   true,
		RetryPolicy:           &temporal.RetryPolicy{MaximumAttempts: 1},
		DisableEagerExecution: true,
		Summary:               ref.TaskID,
		Priority: temporal.Priority{
			PriorityKey: usual, FairnessKey: fairnessKey(ref.Tenant), FairnessWeight: ref.Weight,
		},
	}
	if s.Urgent {
		o.Priority.PriorityKey = urgent
	}
	return o
}

// await waits for the end of a task's turn. Meanwhile it takes signals, and cancels the turn
// if that is asked for.
func (s *run) await(future workflow.Future, taskID string, cancel workflow.CancelFunc) {
	for !future.IsReady() {
		wait := workflow.NewSelector(s.ctx).AddFuture(future, func(workflow.Future) {})
		s.listen(wait, taskID, cancel)
		if s.Cancel == "" {
			wait.AddReceive(s.outer.Done(), func(workflow.ReceiveChannel, bool) {
				s.cancel()
				cancel()
			})
		}
		wait.Select(s.ctx)
	}
}

// listen adds the signals to what is waited for.
func (s *run) listen(wait workflow.Selector, taskID string, cancel func()) {
	wait.AddReceive(s.tasks, func(c workflow.ReceiveChannel, _ bool) {
		var ref index.Ref
		c.Receive(s.ctx, &ref)
		s.arrived(ref)
	})
	wait.AddReceive(s.cancels, func(c workflow.ReceiveChannel, _ bool) {
		var cancelled string
		c.Receive(s.ctx, &cancelled)
		if s.signals++; cancelled == taskID {
			cancel()
		}
	})
}

// pause waits before the next attempt at a task that could not be run, unless it is cancelled.
func (s *run) pause(taskID string) {
	delay := min(minDelay<<min(s.Failures-1, 10), maxDelay)
	timer, stop := workflow.WithCancel(s.ctx)
	future, fired := workflow.NewTimer(timer, delay), false
	for !future.IsReady() && !fired {
		wait := workflow.NewSelector(s.ctx).AddFuture(future, func(workflow.Future) {})
		s.listen(wait, taskID, func() { fired = true })
		if s.Cancel == "" {
			wait.AddReceive(s.outer.Done(), func(workflow.ReceiveChannel, bool) {
				s.cancel()
				fired = true
			})
		}
		wait.Select(s.ctx)
	}
	stop()
}

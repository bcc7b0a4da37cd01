package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/index"
)

// table is what Postgres would know: the tasks of a session that have not ended, in order.
type table struct {
	open   []string
	times  []time.Time
	inputs []TurnInput
	// answer, if set, says how an attempt goes that the table would have ended. The number
	// counts attempts from 1.
	answer func(number int, in TurnInput) (*TurnOutput, error)
}

func (b *table) next() *index.Ref {
	if len(b.open) == 0 {
		return nil
	}
	return &index.Ref{TaskID: b.open[0], Tenant: "acme", Weight: 2}
}

func (b *table) turn(in TurnInput, now time.Time) (TurnOutput, error) {
	b.inputs, b.times = append(b.inputs, in), append(b.times, now)
	if len(b.open) == 0 || b.open[0] != in.TaskID {
		return TurnOutput{Next: b.next()}, nil
	}
	if b.answer != nil {
		if out, err := b.answer(len(b.inputs), in); out != nil || err != nil {
			return *out, err
		}
	}
	b.open = b.open[1:]
	return TurnOutput{Attempt: 1, Outcome: event.Completed, Next: b.next()}, nil
}

// tasks are those that were asked for, in order.
func (b *table) ids() (ids []string) {
	for _, in := range b.inputs {
		ids = append(ids, in.TaskID)
	}
	return ids
}

// env is an environment in which the activity asks the table.
func (b *table) env(t *testing.T) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflowWithOptions(Session, workflow.RegisterOptions{Name: sessionWorkflow})
	env.RegisterActivityWithOptions(func(in TurnInput) (TurnOutput, error) {
		return b.turn(in, env.Now())
	}, activity.RegisterOptions{Name: turnActivity})
	return env
}

// signal has the workflow learn of tasks after a while.
func signal(env *testsuite.TestWorkflowEnvironment, after time.Duration, ids ...string) {
	env.RegisterDelayedCallback(func() {
		for _, taskID := range ids {
			env.SignalWorkflow(taskSignal, index.Ref{TaskID: taskID, Tenant: "acme", Weight: 2})
		}
	}, after)
}

// finish runs the workflow, which must end without an error.
func finish(t *testing.T, env *testsuite.TestWorkflowEnvironment, in Input) {
	t.Helper()
	in.Silence = time.Minute
	env.ExecuteWorkflow(sessionWorkflow, in)
	if err := env.GetWorkflowError(); !env.IsWorkflowCompleted() || err != nil {
		t.Fatalf("completed: %v; %v", env.IsWorkflowCompleted(), err)
	}
}

// TestTasksRunInTheOrderOfPostgres: whatever task a signal names, and however often.
func TestTasksRunInTheOrderOfPostgres(t *testing.T) {
	b := &table{open: []string{"s/1", "s/2", "s/3"}}
	env := b.env(t)
	signal(env, 0, "s/3", "s/3", "s/1")
	finish(t, env, Input{})
	if want := []string{"s/1", "s/2", "s/3"}; len(b.open) > 0 || !slices.Equal(b.ids(), want) {
		t.Errorf("%v", b.ids())
	}
}

// TestASignalDuringATurn is not lost, also if Postgres did not know of its task yet.
func TestASignalDuringATurn(t *testing.T) {
	b := &table{open: []string{"s/1"}}
	env := b.env(t)
	env.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) {
		if len(b.inputs) == 0 {
			env.SignalWorkflow(taskSignal, index.Ref{TaskID: "s/2"})
		}
	})
	b.answer = func(number int, _ TurnInput) (*TurnOutput, error) {
		if number > 1 {
			return nil, nil
		}
		b.open = []string{"s/2"} // it is stored after the activity has looked for it
		return &TurnOutput{Attempt: 1, Outcome: event.Completed}, nil
	}
	signal(env, 0, "s/1")
	finish(t, env, Input{})
	if len(b.open) > 0 || !slices.Equal(b.ids(), []string{"s/1", "s/2"}) {
		t.Errorf("%v, and %v are open", b.ids(), b.open)
	}
}

// TestAVerdictBeforeAHeldTurnReturns: the signal of the verdict has the task run again, although it
// names the task that has just run.
func TestAVerdictBeforeAHeldTurnReturns(t *testing.T) {
	b := &table{open: []string{"s/1"}}
	env := b.env(t)
	env.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) {
		if len(b.inputs) == 0 {
			env.SignalWorkflow(taskSignal, index.Ref{TaskID: "s/1"})
		}
	})
	b.answer = func(number int, _ TurnInput) (*TurnOutput, error) {
		if number > 1 {
			return nil, nil
		}
		return &TurnOutput{Attempt: 1, Outcome: fleet.OutcomeHeld}, nil
	}
	signal(env, 0, "s/1")
	finish(t, env, Input{})
	if len(b.open) > 0 || !slices.Equal(b.ids(), []string{"s/1", "s/1"}) {
		t.Errorf("%v, and %v are open", b.ids(), b.open)
	}
}

// TestPriorities: a turn that has begun precedes others, and tenants have their shares.
func TestPriorities(t *testing.T) {
	for first, want := range map[bool]int{true: 1, false: 3} {
		s := &run{Input: Input{Urgent: first}}
		o := s.options(index.Ref{TaskID: "s/1", Tenant: "acme", Weight: 2})
		if o.Priority != (temporal.Priority{PriorityKey: want, FairnessKey: "acme", FairnessWeight: 2}) ||
			o.RetryPolicy.MaximumAttempts != 1 {
			t.Errorf("%+v", o)
		}
	}
}

// TestFairnessKeys are short enough for Temporal, and differ where tenants do.
func TestFairnessKeys(t *testing.T) {
	long := strings.Repeat("é", 35)
	keys := map[string]bool{}
	for _, tenant := range []string{
		long, long + "a", long + "b", strings.Repeat("x", 100), "a" + strings.Repeat("é", 40),
	} {
		key := fairnessKey(tenant)
		if len(key) > maxFairnessKey || !utf8.ValidString(key) || keys[key] || !strings.HasPrefix(key, tenant[:2]) {
			t.Errorf("%q is %q", tenant, key)
		}
		keys[key] = true
	}
	if key := fairnessKey(strings.Repeat("x", maxFairnessKey)); key != strings.Repeat("x", maxFairnessKey) {
		t.Errorf("a name that Temporal takes is %q", key)
	}
}

// TestALostTurnIsScheduledAgain at once, and so is one whose worker was shut down.
func TestALostTurnIsScheduledAgain(t *testing.T) {
	b := &table{open: []string{"s/1", "s/2"}}
	env := b.env(t)
	b.answer = func(number int, _ TurnInput) (*TurnOutput, error) {
		switch number {
		case 1:
			return &TurnOutput{}, temporal.NewHeartbeatTimeoutError()
		case 2:
			return &TurnOutput{Attempt: 2, Retry: true, Next: b.next()}, nil
		}
		return nil, nil
	}
	signal(env, 0, "s/1")
	finish(t, env, Input{})
	if !slices.Equal(b.ids(), []string{"s/1", "s/1", "s/1", "s/2"}) {
		t.Errorf("%v", b.ids())
	}
	if pause := b.times[2].Sub(b.times[0]); pause > time.Second {
		t.Errorf("it takes %s until the turn continues", pause)
	}
}

// TestATaskThatNobodyCanRun is tried again later each time, so that it does not keep the fleet
// busy, and its cancellation does not wait.
func TestATaskThatNobodyCanRun(t *testing.T) {
	b := &table{open: []string{"s/1"}}
	env := b.env(t)
	b.answer = func(number int, _ TurnInput) (*TurnOutput, error) {
		if number%2 == 0 {
			return &TurnOutput{}, errors.New("the database is away")
		}
		if number == 15 {
			return nil, nil
		}
		return &TurnOutput{Attempt: number, Retry: true, Failed: true, Grown: number == 7, Next: b.next()}, nil
	}
	signal(env, 0, "s/1")
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(cancelSignal, "s/1") }, 10*time.Minute)
	finish(t, env, Input{})
	var given []int // an unreachable database says nothing about the task, and an event begins anew
	for _, in := range b.inputs {
		given = append(given, in.Returns)
	}
	if want := []int{0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3, 3}; !slices.Equal(given, want) {
		t.Errorf("given back %v times, want %v", given, want)
	}
	for n := 1; n < len(b.times); n++ {
		if pause, want := b.times[n].Sub(b.times[n-1]), min(minDelay<<(n-1), maxDelay); pause.Round(
			minDelay,
		) != want.Round(
			minDelay,
		) {
			t.Errorf("attempt %d comes after %s, not %s", n+1, pause, want)
		}
	}
}

// anything is testify's mock.Anything.
const anything = "mock.Anything"

// TestACancelledTask has its activity cancelled, and only its own.
func TestACancelledTask(t *testing.T) {
	for taskID, cancelled := range map[string]bool{"s/1": true, "s/2": false} {
		b := &table{open: []string{"s/1"}}
		env := b.env(t)
		seen, starts := false, 0
		env.SetOnActivityCanceledListener(func(*activity.Info) { seen = true })
		env.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) {
			if starts++; starts == 1 {
				env.SignalWorkflow(cancelSignal, taskID)
			}
		})
		env.OnActivity(turnActivity, anything, anything).
			After(time.Minute).
			Return(TurnOutput{Outcome: event.Aborted}, nil)
		signal(env, 0, "s/1")
		finish(t, env, Input{})
		if seen != cancelled {
			t.Errorf("cancel %s: %v", taskID, seen)
		}
	}
}

// TestACancelledWorkflow ends all tasks of the session: each one is asked to end.
func TestACancelledWorkflow(t *testing.T) {
	b := &table{open: []string{"s/1", "s/2"}}
	env := b.env(t)
	signal(env, 0, "s/1")
	env.RegisterDelayedCallback(env.CancelWorkflow, 0)
	env.ExecuteWorkflow(sessionWorkflow, Input{Silence: time.Minute})
	if err := env.GetWorkflowError(); !temporal.IsCanceledError(err) || len(b.open) > 0 {
		t.Errorf("%v; %v are open", err, b.open)
	}
	first, last := b.inputs[0], b.inputs[len(b.inputs)-1]
	if last.TaskID != "s/2" || last.Cancel != byTemporal || last.Cancelled.IsZero() ||
		!first.Cancelled.IsZero() && !first.Cancelled.Equal(last.Cancelled) {
		t.Errorf("%+v", b.inputs)
	}
}

// TestALongSessionContinuesAsNew, long before the server's limits, and loses nothing.
func TestALongSessionContinuesAsNew(t *testing.T) {
	b := &table{}
	for n := range 2000 {
		b.open = append(b.open, fmt.Sprint("s/", n))
	}
	in, runs := Input{Silence: time.Minute}, 0
	for len(b.open) > 0 || in.Next != nil {
		env := b.env(t)
		if runs++; runs == 1 {
			signal(env, 0, "s/0")
		}
		env.ExecuteWorkflow(sessionWorkflow, in)
		in = Input{}
		if secondRef := (*workflow.ContinueAsNewError)(nil); errors.As(env.GetWorkflowError(), &secondRef) {
			if err := converter.GetDefaultDataConverter().FromPayloads(secondRef.Input, &in); err != nil {
				t.Fatal(err)
			}
		} else if err := env.GetWorkflowError(); err != nil {
			t.Fatal(err)
		}
	}
	if want := 2000 / maxTurns; runs < want || runs > want+1 || len(b.inputs) != 2000 {
		t.Errorf("%d runs, %d turns", runs, len(b.inputs))
	}
}

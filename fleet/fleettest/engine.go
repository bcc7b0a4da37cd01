package fleettest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
)

// EngineUnderTest is an engine and what the tests have to do to it.
type EngineUnderTest struct {
	fleet.Engine
	// Kill has the engine believe that a worker is dead.
	Kill func(worker string)
}

// long is a lease that does not end during a test.
const long = time.Hour

// RunEngine runs the tests that every engine has to pass; open makes one that has
// no units.
func RunEngine(t *testing.T, open func(t *testing.T) EngineUnderTest) {
	for name, test := range map[string]func(*testing.T, EngineUnderTest){
		"ASecondSubmissionIsTheFirst": secondSubmission,
		"UnitsGoToOneWorkerEach":      oneWorkerEach,
		"ASessionsUnitsComeInOrder":   inOrder,
		"ADeadWorkersUnitGoesOn":      deadWorker,
		"CancelEndsAUnit":             cancelled,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// task returns one that is complete.
func task(t *testing.T, session, input string) fleet.Task {
	t.Helper()
	made, err := fleet.Task{Session: session, Input: input, Prompt: "work"}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func submit(t *testing.T, e fleet.Engine, tasks ...fleet.Task) {
	t.Helper()
	if fresh, err := e.Submit(t.Context(), tasks); err != nil || fresh != len(tasks) {
		t.Fatalf("%d are new: %v", fresh, err)
	}
}

func beat(t *testing.T, e fleet.Engine, worker string, room int) fleet.Orders {
	t.Helper()
	o, err := e.Heartbeat(t.Context(), fleet.Beat{Worker: worker, Lease: long, Room: room})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// done is a result without a log.
func done() *fleet.Result { return &fleet.Result{Outcome: event.Completed, Answer: "yes"} }

func secondSubmission(t *testing.T, e EngineUnderTest) {
	one := task(t, "s1", "n1")
	submit(t, e, one)
	again := one
	again.Prompt = "something else"
	if fresh, err := e.Submit(t.Context(), []fleet.Task{again, task(t, "s1", "n2")}); err != nil || fresh != 1 {
		t.Errorf("%d are new: %v", fresh, err)
	}
	u, err := e.State(t.Context(), "s1/n1")
	if err != nil || u.Task.Prompt != "work" || u.State != fleet.Queued {
		t.Errorf("%+v, %v", u, err)
	}
	if _, err := e.State(t.Context(), "s1/nothing"); !errors.As(err, new(*fleet.UnknownError)) {
		t.Errorf("%v", err)
	}
}

func oneWorkerEach(t *testing.T, e EngineUnderTest) {
	const units, workers = 200, 8
	var tasks []fleet.Task
	for n := range units {
		tasks = append(tasks, task(t, fmt.Sprintf("s%d", n), "1"))
	}
	submit(t, e, tasks...)
	var wg sync.WaitGroup
	took := make([][]fleet.Attempt, workers)
	errs := make([]error, workers)
	for n := range workers {
		wg.Go(func() {
			for empty := 0; empty < 3; {
				o, err := e.Heartbeat(context.WithoutCancel(t.Context()), fleet.Beat{Worker: fmt.Sprint("w", n), Lease: long, Room: 7})
				if err != nil {
					errs[n] = err
					return
				}
				if took[n] = append(took[n], o.Begin...); len(o.Begin) == 0 {
					empty++
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for n := range workers {
		for _, a := range append(took[n], beat(t, e, fmt.Sprint("w", n), units).Begin...) {
			if seen[a.Unit] || a.Number != 1 {
				t.Errorf("unit %s was given away twice, or is attempt %d", a.Unit, a.Number)
			}
			seen[a.Unit] = true
		}
	}
	if len(seen) != units {
		t.Errorf("%d units were given away, not %d", len(seen), units)
	}
}

func inOrder(t *testing.T, e EngineUnderTest) {
	submit(t, e, task(t, "s1", "a"), task(t, "s1", "b"), task(t, "s2", "a"))
	first := beat(t, e, "w1", 10)
	if len(first.Begin) != 2 {
		t.Fatalf("C3: %+v", first.Begin)
	}
	if more := beat(t, e, "w2", 10); len(more.Begin) > 0 {
		t.Fatalf("C3: %+v", more.Begin)
	}
	for _, a := range first.Begin {
		if err := e.Complete(t.Context(), a, done()); err != nil {
			t.Fatal(err)
		}
	}
	next := beat(t, e, "w2", 10)
	if len(next.Begin) != 1 || next.Begin[0].Unit != "s1/b" || next.Begin[0].Epoch != 2 {
		t.Errorf("%+v", next.Begin)
	}
	if u, err := e.State(t.Context(), "s1/a"); err != nil || u.State != fleet.Ended || u.Result.Answer != "yes" || u.Ended == nil {
		t.Errorf("%+v, %v", u, err)
	}
}

func deadWorker(t *testing.T, e EngineUnderTest) {
	submit(t, e, task(t, "s1", "1"), task(t, "s2", "1"))
	first := beat(t, e, "w1", 1).Begin[0]
	beat(t, e, "w2", 0)
	if o := beat(t, e, "w2", 1); len(o.Begin) != 1 || o.Begin[0].Unit == first.Unit {
		t.Fatalf("%+v", o.Begin)
	}
	e.Kill("w1")
	o := beat(t, e, "w2", 1)
	if len(o.Begin) != 1 || len(o.Holds) != 2 {
		t.Fatalf("%+v", o)
	}
	second := o.Begin[0]
	if second.Unit != first.Unit || second.Number != 2 || second.Lost != 1 || second.Epoch != first.Epoch+1 {
		t.Errorf("%+v after %+v", second, first)
	}
	if holds := beat(t, e, "w1", 0).Holds; len(holds) > 0 {
		t.Errorf("the dead worker holds %v", holds)
	}
	for _, r := range []*fleet.Result{done(), nil} {
		if err := e.Complete(t.Context(), first, r); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("what the dead worker says: %v", err)
		}
	}
	if err := e.Complete(t.Context(), second, nil); err != nil {
		t.Fatal(err)
	}
	third := beat(t, e, "w1", 1).Begin
	if len(third) != 1 || third[0].Number != 3 || third[0].Lost != 1 || third[0].Epoch != first.Epoch+2 {
		t.Errorf("after it was given back: %+v", third)
	}
	early := *done()
	early.Seq = 17
	if err := e.Complete(t.Context(), third[0], &early); err == nil {
		t.Error("a result counts that the log does not have")
	}
}

func cancelled(t *testing.T, e EngineUnderTest) {
	submit(t, e, task(t, "s1", "1"), task(t, "s2", "1"))
	running := beat(t, e, "w1", 1).Begin[0]
	for _, unit := range []string{"s1/1", "s2/1"} {
		if ok, err := e.Cancel(t.Context(), unit, "somebody"); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	o := beat(t, e, "w1", 10)
	if len(o.Begin) > 0 || o.Cancel[running.Unit] != "somebody" {
		t.Errorf("%+v", o)
	}
	for _, unit := range []string{"s1/1", "s2/1"} {
		u, err := e.State(t.Context(), unit)
		if err != nil || u.Cancel != "somebody" {
			t.Errorf("%+v, %v", u, err)
		}
		if unit != running.Unit && (u.State != fleet.Ended || u.Result.Outcome != event.Aborted || u.Result.Reason != event.Interrupted) {
			t.Errorf("the unit that nobody had: %+v", u)
		}
	}
	if err := e.Complete(t.Context(), running, &fleet.Result{Outcome: event.Aborted, Reason: event.Interrupted}); err != nil {
		t.Fatal(err)
	}
	if ok, err := e.Cancel(t.Context(), running.Unit, "somebody"); ok || err != nil {
		t.Errorf("a unit that has ended: %v, %v", ok, err)
	}
	if _, err := e.Cancel(t.Context(), "nothing/1", "somebody"); !errors.As(err, new(*fleet.UnknownError)) {
		t.Errorf("%v", err)
	}
}

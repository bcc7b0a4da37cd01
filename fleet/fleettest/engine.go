package fleettest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
)

// EngineUnderTest is an engine with the operations that its tests need.
type EngineUnderTest struct {
	fleet.Engine
	// Kill has the engine believe that a worker is dead.
	Kill func(worker string)
}

// patience bounds what a test waits for.
const patience = 2 * time.Minute

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
		"WaitReturnsWhatEnded":        waited,
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

// beatAt sends a heartbeat.
func beatAt(t *testing.T, e fleet.Engine, worker string, room int) fleet.Orders {
	t.Helper()
	o, err := e.Heartbeat(t.Context(), fleet.Beat{Worker: worker, Lease: long, Room: room})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// beat sends heartbeats until the worker has received units for its room. An engine that
// waits for a server needs a moment for that.
func beat(t *testing.T, e fleet.Engine, worker string, room int) fleet.Orders {
	t.Helper()
	o := beatAt(t, e, worker, room)
	for limit := time.Now().Add(patience); len(o.Begin) < room && time.Now().Before(limit); {
		pause(e)
		next := beatAt(t, e, worker, room-len(o.Begin))
		next.Begin = append(o.Begin, next.Begin...)
		o = next
	}
	return o
}

// none has the worker ask for units in vain.
func none(t *testing.T, e fleet.Engine, worker string, room int) (o fleet.Orders) {
	t.Helper()
	for range 3 {
		if o = beatAt(t, e, worker, room); len(o.Begin) > 0 {
			t.Errorf("worker %s was given %+v", worker, o.Begin)
		}
		pause(e)
	}
	return o
}

// pause waits until there may be something to do.
func pause(e fleet.Engine) {
	var wake <-chan struct{}
	if u, ok := e.(EngineUnderTest); ok {
		e = u.Engine
	}
	if w, ok := e.(fleet.Waker); ok {
		wake = w.Wake()
	}
	select {
	case <-wake:
	case <-time.After(50 * time.Millisecond):
	}
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
	var taken atomic.Int64
	took := make([][]fleet.Attempt, workers)
	errs := make([]error, workers)
	for n := range workers {
		wg.Go(func() {
			for limit := time.Now().Add(patience); taken.Load() < units && time.Now().Before(limit); {
				o, err := e.Heartbeat(
					context.WithoutCancel(t.Context()), fleet.Beat{Worker: fmt.Sprint("w", n), Lease: long, Room: 7},
				)
				if err != nil {
					errs[n] = err
					return
				}
				took[n] = append(took[n], o.Begin...)
				if taken.Add(int64(len(o.Begin))); len(o.Begin) == 0 {
					pause(e)
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
		for _, a := range append(took[n], beatAt(t, e, fmt.Sprint("w", n), units).Begin...) {
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
	first := beat(t, e, "w1", 2)
	if len(first.Begin) != 2 {
		t.Fatalf("C3: %+v", first.Begin)
	}
	none(t, e, "w2", 10) // C3
	for _, a := range first.Begin {
		if err := e.Complete(t.Context(), a, done()); err != nil {
			t.Fatal(err)
		}
	}
	next := beat(t, e, "w2", 1)
	if len(next.Begin) != 1 || next.Begin[0].Unit != "s1/b" || next.Begin[0].Epoch != 2 {
		t.Errorf("%+v", next.Begin)
	}
	if u, err := e.State(t.Context(), "s1/a"); err != nil || u.State != fleet.Ended || u.Result.Answer != "yes" ||
		u.Ended == nil {
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
	o := none(t, e, "w1", 10)
	if o.Cancel[running.Unit] != "somebody" {
		t.Errorf("%+v", o)
	}
	for _, unit := range []string{"s1/1", "s2/1"} {
		u, err := e.State(t.Context(), unit)
		if err != nil || u.Cancel != "somebody" {
			t.Errorf("%+v, %v", u, err)
		}
		if unit != running.Unit &&
			(u.State != fleet.Ended || u.Result.Outcome != event.Aborted || u.Result.Reason != event.Interrupted) {
			t.Errorf("the unit that nobody had: %+v", u)
		}
	}
	if err := e.Complete(
		t.Context(), running, &fleet.Result{Outcome: event.Aborted, Reason: event.Interrupted},
	); err != nil {
		t.Fatal(err)
	}
	if ok, err := e.Cancel(t.Context(), running.Unit, "somebody"); ok || err != nil {
		t.Errorf("a unit that has ended: %v, %v", ok, err)
	}
	if _, err := e.Cancel(t.Context(), "nothing/1", "somebody"); !errors.As(err, new(*fleet.UnknownError)) {
		t.Errorf("%v", err)
	}
}

// waited: [fleet.Submit] and [fleet.Wait] work with the engine.
func waited(t *testing.T, e EngineUnderTest) {
	wrong := (*fleet.TaskError)(nil)
	if _, err := fleet.Submit(t.Context(), e, task(t, "s1", "1"), fleet.Task{Session: "s2"}); !errors.As(err, &wrong) ||
		wrong.Task != 1 {
		t.Fatalf("a task without a prompt: %v", err)
	}
	if _, err := fleet.Submit(t.Context(), e, task(t, "s1", "1"), task(t, "s1", "1")); !errors.As(err, &wrong) ||
		wrong.Task != 1 {
		t.Fatalf("the same task twice: %v", err)
	}
	if _, err := e.State(t.Context(), "s1/1"); !errors.As(err, new(*fleet.UnknownError)) {
		t.Fatalf("after a refusal: %v", err)
	}
	units, err := fleet.Submit(t.Context(), e, task(t, "s1", "1"), task(t, "s2", "1"))
	if err != nil || len(units) != 2 {
		t.Fatal(units, err)
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if u, err := fleet.Wait(ctx, e, units[0]); !errors.Is(err, stop) {
		t.Errorf("%+v, %v", u, err)
	}
	for _, a := range beat(t, e, "w1", 2).Begin {
		r := done()
		if a.Unit == units[1] {
			r = &fleet.Result{Outcome: event.Failed, Message: "no"}
		}
		if err := e.Complete(t.Context(), a, r); err != nil {
			t.Fatal(err)
		}
	}
	if u, err := fleet.Wait(t.Context(), e, units[0]); err != nil || u.Result.Answer != "yes" {
		t.Errorf("%+v, %v", u, err)
	}
	incomplete := (*fleet.IncompleteError)(nil)
	if u, err := fleet.Wait(t.Context(), e, units[1]); !errors.As(err, &incomplete) ||
		incomplete.Unit.Result.Outcome != event.Failed || u.ID != units[1] {
		t.Errorf("%+v, %v", u, err)
	}
	if _, err := fleet.Wait(t.Context(), e, "nothing/1"); !errors.As(err, new(*fleet.UnknownError)) {
		t.Errorf("%v", err)
	}
}

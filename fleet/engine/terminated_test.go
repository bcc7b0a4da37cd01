package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
)

// TestATerminatedWorkflow: the tasks of its session end as aborted: the one that ran through a
// worker, which writes its endings, and the one that waits at once. Other sessions, and a session
// that has a new workflow, continue.
func TestATerminatedWorkflow(t *testing.T) {
	p, e := newPlace(t)
	began := time.Now().Add(-time.Minute)
	running := make(chan string, 1)
	life, stop := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() { // ends with life
		run := func(ctx, cancelled context.Context, a *fleet.Attempt) {
			r := &fleet.Result{Outcome: event.Completed}
			switch {
			case a.Cancel != "":
				r = &fleet.Result{Outcome: event.Aborted, Reason: event.Interrupted, Message: a.Cancel}
			case a.Task.Session == "terminated":
				running <- a.TaskID
				select {
				case <-ctx.Done(): // its heartbeat is refused
					r = nil
				case <-cancelled.Done():
				}
			}
			if err := e.Complete(context.WithoutCancel(ctx), *a, r); (err != nil) != (r == nil) {
				t.Errorf("%s: %v", a.TaskID, err)
			}
		}
		if err := e.Work(life, fleet.Work{Worker: "w1", Slots: 2, Run: run}); err != nil {
			t.Error(err)
		}
	})
	defer ended.Wait()
	defer stop()
	for _, input := range []string{"1", "2"} {
		p.Submit(t, fleet.Task{Session: "terminated", Input: input, Prompt: "work"})
	}
	if taskID := <-running; taskID != "terminated/1" {
		t.Fatal(taskID)
	}
	if n, err := e.EndTerminated(t.Context(), began); err != nil || n != 0 {
		t.Errorf("before, %d tasks end: %v", n, err)
	}
	queue := temporalServer.Last()
	if err := temporalServer.Client(t).TerminateWorkflow(t.Context(), queue+":terminated", "", "an operator"); err != nil {
		t.Fatal(err)
	}
	p.Submit(t, fleet.Task{Session: "other", Prompt: "work"})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tasks := int64(0)
	for tasks == 0 { // the list is late
		n, err := e.EndTerminated(ctx, began)
		if err != nil {
			t.Fatal(err)
		}
		tasks += n
	}
	if tasks != 2 {
		t.Errorf("%d tasks were ended", tasks)
	}
	for _, u := range await(t, p) {
		switch {
		case u.ID == "other/1" && u.Result.Outcome == event.Completed:
		case u.ID == "terminated/1" && u.Result.Outcome == event.Aborted && u.Attempt == 2 && u.Lost == 1:
		case u.ID == "terminated/2" && u.Result.Outcome == event.Aborted && u.Attempt == 0:
		default:
			t.Errorf("%+v, %+v", u, u.Result)
		}
	}
	p.Submit(t, fleet.Task{Session: "terminated", Input: "3", Prompt: "work"})
	if taskID := <-running; taskID != "terminated/3" {
		t.Error(taskID)
	}
	if n, err := e.EndTerminated(t.Context(), began); err != nil || n != 0 {
		t.Errorf("with a new workflow, %d tasks end: %v", n, err)
	}
	if _, err := e.Cancel(t.Context(), "terminated/3", "the test"); err != nil {
		t.Error(err)
	}
	await(t, p)
}

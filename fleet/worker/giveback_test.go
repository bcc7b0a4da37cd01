package worker

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
)

// ender is an engine that only ends attempts.
type ender struct {
	fleet.Engine
	place *fleettest.Place
}

// Complete implements [fleet.Engine].
func (e ender) Complete(ctx context.Context, a fleet.Attempt, r *fleet.Result) error {
	return e.place.Index.End(ctx, a, r)
}

// newWorker returns a worker of the place whose attempts the test runs.
func newWorker(
	t *testing.T, p *fleettest.Place, session func(context.Context, fleet.Attempt) (settle.SessionConfig, error),
) *Worker {
	t.Helper()
	w, err := New(t.Context(), Config{ID: "w", Engine: ender{place: p}, Logs: p.Logs, Session: session, Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.host.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return w
}

// TestAUnitThatNoWorkerCanBegin goes back some times, and then fails with the last reason.
func TestAUnitThatNoWorkerCanBegin(t *testing.T) {
	p := fleettest.New(t, &server)
	var r fleettest.Record
	agent := sessions(t, fleettest.Model{}, &r)
	errs := map[string]error{
		"closed": errors.New("a tool is missing"), "foreign": &fleet.ForeignError{Err: errors.New("not of this worker")},
	}
	w := newWorker(t, p, func(ctx context.Context, a fleet.Attempt) (settle.SessionConfig, error) {
		c, err := agent(ctx, a)
		if a.Task.Session == "foreign" {
			return c, errs["foreign"]
		}
		c.Toolbox = func(settle.SessionInfo) (settle.Toolbox, error) { return settle.Toolbox{}, errs["closed"] }
		return c, err
	})
	for session, want := range errs {
		p.Submit(t, fleet.Task{Session: session, Prompt: "work"})
		for _, before := range []int{0, maxGivenBack} {
			a := p.Claim(t, "w")
			a.GivenBack = before
			w.attempt(t.Context(), a, nil)
			s, err := p.Index.Standing(t.Context(), a.Unit)
			if err != nil || s.Seq != a.Seq {
				t.Errorf("the log of %s has grown from %d to %d, %v", session, a.Seq, s.Seq, err)
			}
			u, err := p.Index.State(t.Context(), a.Unit)
			switch {
			case err != nil:
				t.Fatal(err)
			case before == 0 && u.State != fleet.Queued:
				t.Errorf("%+v, %+v", u, u.Result)
			case before > 0 && (u.State != fleet.Ended || u.Result.Outcome != event.Failed ||
				!strings.Contains(u.Result.Message, want.Error())):
				t.Errorf("%+v, %+v", u, u.Result)
			}
		}
	}
}

// limited is a model whose requests wait for the test.
type limited struct {
	fleettest.Model
	open chan struct{}
}

// Enter implements [model.Gate].
func (l limited) Enter(ctx context.Context) (leave func(), err error) {
	select {
	case <-l.open:
		return func() {}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// TestAWaitForALimitIsProgress: the log does not grow meanwhile, and the worker lives.
func TestAWaitForALimitIsProgress(t *testing.T) {
	p := fleettest.New(t, &server)
	var r fleettest.Record
	agent := sessions(t, fleettest.Model{}, &r)
	open := make(chan struct{})
	w := newWorker(t, p, func(ctx context.Context, a fleet.Attempt) (settle.SessionConfig, error) {
		c, err := agent(ctx, a)
		c.Model.Provider = limited{c.Model.Provider.(fleettest.Model), open}
		return c, err
	})
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"})
	a := p.Claim(t, "w")
	ended := make(chan struct{})
	go func() { // ends when the gate is open
		defer close(ended)
		w.attempt(t.Context(), a, nil)
	}()
	seen := map[Progress]bool{} // of the same log
	for ctx, events := t.Context(), uint64(0); len(seen) < 3 && ctx.Err() == nil; {
		now, runs := w.progress(a.Unit).(Progress)
		if !runs || now.Waited == 0 {
			continue
		}
		if now.Events != events {
			events = now.Events
			clear(seen)
		}
		seen[now] = true
	}
	close(open)
	<-ended
	if u, err := p.Index.State(t.Context(), a.Unit); err != nil || u.State != fleet.Ended {
		t.Errorf("%+v, %v", u, err)
	}
}

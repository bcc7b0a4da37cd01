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
	"github.com/settle-agent/settle/model"
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

// TestATaskThatNoWorkerCanBegin goes back some times, and then fails with the last reason, unless that is the worker's.
func TestATaskThatNoWorkerCanBegin(t *testing.T) {
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
	for _, session := range []string{"closed", "foreign"} { // the second one stays open
		want := errs[session]
		p.Submit(t, fleet.Task{Session: session, Prompt: "work"})
		for _, before := range []int{0, maxReturns} {
			a := p.Claim(t, "w")
			a.Returns = before
			w.attempt(t.Context(), t.Context(), &a)
			s, err := p.Index.Standing(t.Context(), a.TaskID)
			if err != nil || s.Seq != a.Seq {
				t.Errorf("the log of %s has grown from %d to %d, %v", session, a.Seq, s.Seq, err)
			}
			u, err := p.Index.State(t.Context(), a.TaskID)
			switch {
			case err != nil:
				t.Fatal(err)
			case before == 0 || session == "foreign": // which says nothing about the task
				if u.State != fleet.Queued {
					t.Errorf("%+v, %+v", u, u.Result)
				}
			case u.State != fleet.Ended || u.Result.Outcome != event.Failed ||
				!strings.Contains(u.Result.Message, want.Error()):
				t.Errorf("%+v, %+v", u, u.Result)
			}
		}
	}
}

// mute is an engine that does not say how attempts end.
type mute struct{ fleet.Engine }

// Complete implements [fleet.Engine].
func (mute) Complete(context.Context, fleet.Attempt, *fleet.Result) error {
	return errors.New("unreachable")
}

// TestABegunTaskThatNoWorkerCanBegin ends as its log says, and leaves no inputs to the session's next task.
func TestABegunTaskThatNoWorkerCanBegin(t *testing.T) {
	for _, c := range []struct {
		name          string
		accepted, ran bool // how far the first worker comes
		cancelled     bool
		want          event.Outcome
	}{
		{"completed", true, true, false, event.Completed},
		{"completed and cancelled", true, true, true, event.Completed},
		{"accepted", true, false, false, event.Failed},
		{"cancelled", true, false, true, event.Aborted},
		{"cancelled before", false, false, true, event.Aborted},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := fleettest.New(t, &server)
			var r fleettest.Record
			agent := sessions(t, fleettest.Model{}, &r)
			broken := false
			w := newWorker(t, p, func(ctx context.Context, a fleet.Attempt) (settle.SessionConfig, error) {
				config, err := agent(ctx, a)
				if broken {
					config.Toolbox = func(settle.SessionInfo) (settle.Toolbox, error) {
						return settle.Toolbox{}, errors.New("a tool is missing")
					}
				}
				return config, err
			})
			p.Submit(t, fleet.Task{Session: "s", Prompt: "work"})
			a := p.Claim(t, "w0")
			switch {
			case c.ran:
				runUnreported(t, p, w, a)
			case c.accepted:
				leave(t, w, a, agent)
			}
			if c.cancelled {
				if _, err := p.Index.Cancel(t.Context(), a.TaskID, "ada"); err != nil {
					t.Fatal(err)
				}
			}
			broken = true
			a = p.Claim(t, "w")
			a.Returns = maxReturns
			w.attempt(t.Context(), t.Context(), &a)
			u, err := p.Index.State(t.Context(), a.TaskID)
			if err != nil || u.State != fleet.Ended || u.Result.Outcome != c.want {
				t.Fatalf("%+v, %+v, %v", u, u.Result, err)
			}
			if waiting := folded(t, p, "s").Waiting; len(waiting) > 0 {
				t.Errorf("inputs are left: %+v", waiting)
			}
		})
	}
}

// TestACancelledTaskEndsOnAnyWorker ends a cancelled task at the first worker that claims it, also one that
// cannot begin it, such as a worker of another tenant.
func TestACancelledTaskEndsOnAnyWorker(t *testing.T) {
	foreign := &fleet.ForeignError{Err: errors.New("not of this worker")}
	for _, c := range []struct {
		name          string
		accepted, ran bool // how far the first worker comes
		session, tool error
		want          event.Outcome
	}{
		{name: "foreign and not begun", session: foreign, want: event.Aborted},
		{name: "foreign and accepted", accepted: true, session: foreign, want: event.Aborted},
		{name: "foreign and completed", ran: true, session: foreign, want: event.Completed},
		{name: "without a budget", session: &budgetError{errors.New("unreachable")}, want: event.Aborted},
		{name: "without a tool", accepted: true, tool: errors.New("a tool is missing"), want: event.Aborted},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := fleettest.New(t, &server)
			var r fleettest.Record
			agent := sessions(t, fleettest.Model{}, &r)
			broken := false
			w := newWorker(t, p, func(ctx context.Context, a fleet.Attempt) (settle.SessionConfig, error) {
				config, err := agent(ctx, a)
				if broken {
					err = c.session
					config.Toolbox = func(settle.SessionInfo) (settle.Toolbox, error) {
						return settle.Toolbox{}, c.tool
					}
				}
				return config, err
			})
			p.Submit(t, fleet.Task{Session: "s", Prompt: "work"})
			a := p.Claim(t, "w0")
			switch {
			case c.ran:
				runUnreported(t, p, w, a)
			case c.accepted:
				leave(t, w, a, agent)
			default:
				broken = true
				w.attempt(t.Context(), t.Context(), &a)
			}
			if _, err := p.Index.Cancel(t.Context(), a.TaskID, "ada"); err != nil {
				t.Fatal(err)
			}
			if u, err := p.Index.State(t.Context(), a.TaskID); err != nil || u.State == fleet.Ended {
				t.Fatalf("before the next worker: %+v, %v", u, err)
			}
			broken = true
			w.attempt(t.Context(), t.Context(), new(p.Claim(t, "w")))
			u, err := p.Index.State(t.Context(), a.TaskID)
			if err != nil || u.State != fleet.Ended || u.Result.Outcome != c.want {
				t.Fatalf("%+v, %+v, %v", u, u.Result, err)
			}
			if c.accepted {
				if waiting := folded(t, p, "s").Waiting; len(waiting) > 0 {
					t.Errorf("inputs are left: %+v", waiting)
				}
			}
		})
	}
}

// runUnreported runs the task on a worker that dies before it reports the task's end.
func runUnreported(t *testing.T, p *fleettest.Place, w *Worker, a fleet.Attempt) {
	t.Helper()
	w.config.Engine = mute{}
	w.attempt(t.Context(), t.Context(), &a)
	w.config.Engine = ender{place: p}
}

// leave has the task's input wait in the log, as a worker leaves it that ends before the turn.
func leave(
	t *testing.T, w *Worker, a fleet.Attempt,
	agent func(context.Context, fleet.Attempt) (settle.SessionConfig, error),
) {
	t.Helper()
	c, err := agent(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	w.config.Logs.Grant(a.Task.Session, a.Epoch)
	s, err := w.host.Session(t.Context(), a.Task.Session, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), "before", settle.WithID("before"), settle.AsLast()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(t.Context(), a.Task.Prompt, settle.WithID(a.Task.Input)); err != nil {
		t.Fatal(err)
	}
	if waiting := s.State().Waiting; len(waiting) != 1 {
		t.Fatalf("inputs that wait: %+v", waiting)
	}
	if err := s.CloseFor(t.Context(), event.Shutdown, "worker"); err != nil {
		t.Fatal(err)
	}
}

// limited is a model whose requests wait for the test.
type limited struct {
	fleettest.Model
	open chan struct{}
}

// Enter implements [model.ConcurrencyLimiter].
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
		w.attempt(t.Context(), t.Context(), &a)
	}()
	seen := map[Progress]bool{} // of the same log
	for ctx, events := t.Context(), uint64(0); len(seen) < 3 && ctx.Err() == nil; {
		now, runs := w.progress(a.TaskID).(Progress)
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
	if u, err := p.Index.State(t.Context(), a.TaskID); err != nil || u.State != fleet.Ended {
		t.Errorf("%+v, %v", u, err)
	}
}

// TestFallbacksNoteThatTheyWait: those of the session's model, and of a child agent's.
func TestFallbacksNoteThatTheyWait(t *testing.T) {
	open := make(chan struct{})
	close(open)
	m := model.Config{Provider: fleettest.Model{}, Fallback: &model.Config{Provider: limited{open: open}}}
	c := settle.SessionConfig{Model: m, Tasks: &settle.Tasks{
		Model: func(context.Context, string) (model.Config, error) { return m, nil },
	}}
	(&run{}).watchGates(&c)
	child, err := c.Tasks.Model(t.Context(), "child")
	if err != nil {
		t.Fatal(err)
	}
	for _, watched := range []model.Config{c.Model, child} {
		if _, ok := watched.Fallback.Provider.(waitingProvider); !ok {
			t.Errorf("%T", watched.Fallback.Provider)
		}
	}
	if _, ok := m.Fallback.Provider.(limited); !ok {
		t.Errorf("the shared configuration has changed: %T", m.Fallback.Provider)
	}
}

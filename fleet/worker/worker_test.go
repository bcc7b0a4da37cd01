package worker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool"
)

// patience bounds what a test waits for.
const patience = 2 * time.Minute

// sessions make sessions that ask the model and record what they do.
func sessions(
	t testing.TB,
	m fleettest.Model,
	r *fleettest.Record,
) func(context.Context, fleet.Attempt) (settle.SessionConfig, error) {
	t.Helper()
	m.Call = r.Call
	work := r.Tool(t)
	return func(context.Context, fleet.Attempt) (settle.SessionConfig, error) {
		return settle.SessionConfig{
			Model:      model.Config{Provider: m, ProviderName: "test", Name: "test"},
			Permission: settle.Allow, WorkDir: t.TempDir(), Tools: []tool.Tool{work},
		}, nil
	}
}

// start runs a worker until stop is called, which waits for its end.
func start(t testing.TB, c Config) (stop func()) {
	t.Helper()
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	w, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Log(err) // of a session that was taken over
		}
	})
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(stop)
	return stop
}

// tasks are so many, each for a session of its own.
func tasks(n int) []fleet.Task {
	out := make([]fleet.Task, n)
	for i := range out {
		out[i] = fleet.Task{Session: fmt.Sprintf("s%03d", i), Prompt: "do what there is to do"}
	}
	return out
}

// TestTasksEnd: each of many tasks is run once, to its end, and its result is that
// of its log.
func TestTasksEnd(t *testing.T) {
	p := newPlace(t)
	var r fleettest.Record
	session := sessions(t, fleettest.Model{Calls: 2}, &r)
	submitted := p.Submit(t, tasks(60)...)
	for n := range 2 {
		start(t, Config{ID: fmt.Sprint("w", n), Engine: p.Engine, Logs: p.Logs, Session: session, Slots: 8})
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, u := range p.Await(ctx, t) {
		if u.Result == nil || u.Result.Outcome != event.Completed || u.Result.Answer != "done after 2 calls" ||
			u.Attempt != 1 ||
			u.Result.Turns != 1 ||
			u.Result.Summary.Calls != 2 {
			t.Errorf("%+v, %+v", u, u.Result)
		}
		if events := p.Events(t, u.Task.Session); events[len(events)-1].Kind() != event.KindSessionClosed {
			t.Errorf("session %s is not closed", u.Task.Session)
		}
	}
	runs := r.Runs()
	if fleettest.CheckOnce(t, runs); len(runs) != 120 {
		t.Errorf("%d calls ran, not 120", len(runs))
	}
	if fresh, err := p.Engine.Submit(t.Context(), submitted); err != nil || fresh != 0 {
		t.Errorf("a second submission: %d, %v", fresh, err)
	}
}

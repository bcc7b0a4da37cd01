package fleettest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/index"
	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/fleet/pglog"
)

// Place is a database with a fleet's tables, and the connections to it.
type Place struct {
	URL  string
	Pool *pgxpool.Pool
	Logs *pglog.Logs
	// Index has the tasks.
	Index *index.Index
	// Engine gives tasks to workers; nil if there are none.
	Engine fleet.Engine
}

// New makes a place on the server.
func New(t testing.TB, server *pgtest.Server) *Place {
	t.Helper()
	return Migrate(t, server.URL(t))
}

// Migrate creates the tables of a fleet in a database, or updates them, and connects to it.
func Migrate(t testing.TB, url string) *Place {
	t.Helper()
	if _, _, err := pglog.Migrate(t.Context(), pgtest.Connect(t, url)); err != nil {
		t.Fatal(err)
	}
	return Join(t, url)
}

// Join connects to a place once more, as another process would.
func Join(t testing.TB, url string) *Place {
	t.Helper()
	pool, err := pglog.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	p := &Place{URL: url, Pool: pool}
	if p.Logs, err = pglog.Open(t.Context(), p.Pool); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Logs.Close)
	p.Index = index.Open(p.Pool)
	return p
}

// Submit submits tasks, which must be new.
func (p *Place) Submit(t testing.TB, tasks ...fleet.Task) []fleet.Task {
	t.Helper()
	complete := make([]fleet.Task, len(tasks))
	for n, task := range tasks {
		var err error
		if complete[n], err = task.Complete(); err != nil {
			t.Fatal(err)
		}
	}
	var added int
	var err error
	if p.Engine != nil {
		added, err = p.Engine.Submit(t.Context(), complete)
	} else {
		var ids []string
		ids, err = p.Index.Accept(t.Context(), "settle", complete)
		added = len(ids)
	}
	if err != nil || added != len(tasks) {
		t.Fatalf("%d of %d tasks are new: %v", added, len(tasks), err)
	}
	return complete
}

// Claim gives a worker the task that was submitted first, has not ended, and is not the worker's.
func (p *Place) Claim(t testing.TB, worker string) fleet.Attempt {
	t.Helper()
	statuses, _, err := p.Index.List(t.Context(), index.Filter{Limit: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range statuses {
		if u.State == fleet.Ended || u.State == fleet.Held || u.State == fleet.Running && u.Worker == worker {
			continue
		}
		a, err := p.Index.Claim(t.Context(), u.ID, worker)
		if err != nil || a == nil {
			t.Fatalf("task %s cannot be taken: %v", u.ID, err)
		}
		return *a
	}
	t.Fatal("no task is open")
	return fleet.Attempt{}
}

// Open returns how many tasks have not ended.
func (p *Place) Open(ctx context.Context) (int, error) { return p.Index.Open(ctx, index.Filter{}) }

// Await waits until all tasks have ended, and returns them.
func (p *Place) Await(ctx context.Context, t testing.TB) []fleet.TaskStatus {
	t.Helper()
	if err := fleet.Await(ctx, p.Open); err != nil {
		statuses, _, _ := p.Index.List(context.WithoutCancel(ctx), index.Filter{State: fleet.Running, Limit: 10})
		t.Fatalf("%v; of those that run: %+v", err, statuses)
	}
	statuses, _, err := p.Index.List(ctx, index.Filter{Limit: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	return statuses
}

// Events returns the log of a session, which must keep the contract.
func (p *Place) Events(t testing.TB, session string) []event.Event {
	t.Helper()
	var events []event.Event
	for e, err := range p.Logs.Read(t.Context(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if err := contract.Check(events); err != nil {
		t.Errorf("session %s: %v", session, err)
	}
	state := event.State{}
	for _, e := range events {
		var err error
		if state, err = event.Fold(state, e); err != nil {
			t.Fatal(err)
		}
	}
	if state.Open || state.Running() != nil {
		t.Errorf("session %s is open at the end", session)
	}
	return events
}

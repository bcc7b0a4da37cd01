package fleettest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/lease"
	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/fleet/pglog"
)

// Place is a database with a fleet's tables, and what works with them.
type Place struct {
	URL  string
	Pool *pgxpool.Pool
	Logs *pglog.Logs
	// Engine lists and counts the units of every engine.
	Engine *lease.Engine
	// Runs is the engine that the workers work with, and Kill has it believe that one
	// of them is dead.
	Runs fleet.Engine
	Kill func(t testing.TB, worker string)
}

// New makes a place on the server.
func New(t testing.TB, server *pgtest.Server) *Place {
	t.Helper()
	return Migrated(t, server.URL(t))
}

// Migrated makes a database a place, or brings its tables up to date.
func Migrated(t testing.TB, url string) *Place {
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
	p.Engine = lease.Open(t.Context(), p.Pool)
	t.Cleanup(p.Engine.Close)
	p.Runs, p.Kill = p.Engine, func(t testing.TB, worker string) {
		t.Helper()
		if _, err := p.Pool.Exec(
			t.Context(),
			`UPDATE settle_fleet.worker SET until = now() - interval '1 s' WHERE id = $1`,
			worker,
		); err != nil {
			t.Fatal(err)
		}
	}
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
	if fresh, err := p.Engine.Submit(t.Context(), complete); err != nil || fresh != len(tasks) {
		t.Fatalf("%d of %d tasks are new: %v", fresh, len(tasks), err)
	}
	return complete
}

// Await waits until all units have ended, and returns them.
func (p *Place) Await(ctx context.Context, t testing.TB) []fleet.Unit {
	t.Helper()
	if err := fleet.Await(ctx, p.Engine.Open); err != nil {
		units, _, _ := p.Engine.List(context.WithoutCancel(ctx), lease.Filter{State: fleet.Running, Limit: 10})
		t.Fatalf("%v; of those that run: %+v", err, units)
	}
	units, _, err := p.Engine.List(ctx, lease.Filter{Limit: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	return units
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

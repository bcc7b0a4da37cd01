package index_test

import (
	"os"
	"strings"
	"testing"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/index"
)

// accept submits a task to a task queue.
func accept(t *testing.T, p *fleettest.Place, queue string, tasks ...fleet.Task) error {
	t.Helper()
	for n, task := range tasks {
		tasks[n] = completeTask(t, task)
	}
	_, err := p.Index.Accept(t.Context(), queue, tasks)
	return err
}

// TestASessionHasOneQueue: the workflow of a second one would take its turn from a live worker.
func TestASessionHasOneQueue(t *testing.T) {
	p := fleettest.New(t, &server)
	first := fleet.Task{Session: "s", Prompt: "work"}
	second := fleet.Task{Session: "s", Input: "2", Prompt: "work"}
	if err := accept(t, p, "settle", first); err != nil {
		t.Fatal(err)
	}
	a := claim(t, p, "s/1", "w")
	err := accept(t, p, "research", fleet.Task{Session: "new", Prompt: "work"}, second)
	if err == nil || !strings.Contains(err.Error(), `submit them with --queue settle`) {
		t.Errorf("a second queue: %v", err)
	}
	if _, err := p.Index.State(t.Context(), "new/1"); err == nil {
		t.Error("a part of a refused submission is stored")
	}
	if err := accept(t, p, "research", first); err != nil {
		t.Errorf("a task that is known: %v", err)
	}
	if err := p.Index.End(t.Context(), *a, done()); err != nil {
		t.Fatal(err)
	}
	if err := accept(t, p, "research", second); err != nil {
		t.Errorf("after the end of all tasks: %v", err)
	}
	if s, err := p.Index.Standing(t.Context(), "s/1"); err != nil || s.Next != nil {
		t.Errorf("the workflow of the first queue has a task of the second: %+v, %v", s.Next, err)
	}
}

// TestTasksOfTwoQueues that an older version has accepted: no workflow takes the other one's task, and
// one of them runs at a time (C3).
func TestTasksOfTwoQueues(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(
		t, fleet.Task{Session: "s", Prompt: "work"}, fleet.Task{Session: "s", Input: "2", Prompt: "work"},
	)
	const move = `UPDATE settle_fleet.unit SET queue = 'research' WHERE input = '2'`
	if _, err := p.Pool.Exec(t.Context(), move); err != nil {
		t.Fatal(err)
	}
	a := claim(t, p, "s/1", "w")
	if s, err := p.Index.Standing(t.Context(), "s/2"); err != nil || s.Next == nil || s.Next.TaskID != "s/2" {
		t.Errorf("the second workflow continues with %+v, %v", s.Next, err)
	}
	if b, err := p.Index.Claim(t.Context(), "s/2", "w2"); b != nil || err == nil {
		t.Errorf("two of a session run: %+v, %v", b, err)
	}
	if err := p.Index.End(t.Context(), *a, done()); err != nil {
		t.Fatal(err)
	}
	if b := claim(t, p, "s/2", "w2"); b == nil || b.Lost != 0 {
		t.Errorf("%+v", b)
	}
}

// TestScalersQuery: the query of the manifest counts sessions that need a worker.
func TestScalersQuery(t *testing.T) {
	p := fleettest.New(t, &server)
	manifest, err := os.ReadFile("../deploy/kubernetes/autoscale.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, query, _ := strings.Cut(string(manifest), ` query: "`)
	query, _, found := strings.Cut(query, `"`)
	if !found {
		t.Fatal("the manifest has no query")
	}
	for _, session := range []string{"ended", "held", "runs", "waits"} {
		p.Submit(t, fleet.Task{Session: session, Prompt: "work"})
	}
	p.Submit(t, fleet.Task{Session: "waits", Input: "2", Prompt: "work"})
	if err := accept(t, p, "other", fleet.Task{Session: "elsewhere", Prompt: "work"}); err != nil {
		t.Fatal(err)
	}
	p.Submit(t, fleet.Task{Session: "foreign", Prompt: "work", Tenant: "another"}) // not for these workers
	hold(t, p, "held/1", "c")
	claim(t, p, "runs/1", "w")
	if err := p.Index.End(t.Context(), *claim(t, p, "ended/1", "w"), done()); err != nil {
		t.Fatal(err)
	}
	var n float64
	if err := p.Pool.QueryRow(t.Context(), query).Scan(&n); err != nil || n != 2 {
		t.Errorf("%v sessions, %v", n, err)
	}
}

// TestAHeldTaskFollowsItsSession to another task queue.
func TestAHeldTaskFollowsItsSession(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"})
	hold(t, p, "s/1", "c")
	if err := accept(t, p, "research", fleet.Task{Session: "s", Input: "2", Prompt: "work"}); err != nil {
		t.Fatal(err)
	}
	if queued, err := p.Index.Answer(t.Context(), "s/1", approved("c")); !queued || err != nil {
		t.Fatal(queued, err)
	}
	parcels, err := p.Index.Take(t.Context(), []string{"s/1", "s/2"})
	if err != nil || len(parcels) != 1 || parcels[0].Queue != "research" {
		t.Errorf("%+v, %v", parcels, err)
	}
}

// TestASessionHasOneTenant: another one could have the model tell what its log has.
func TestASessionHasOneTenant(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work", Tenant: "a"})
	if err := p.Index.End(t.Context(), *claim(t, p, "s/1", "w"), done()); err != nil {
		t.Fatal(err)
	}
	const want = "another tenant"
	if err := accept(t, p, "settle", fleet.Task{Session: "s", Input: "2", Prompt: "work", Tenant: "b"}); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("a later task: %v", err)
	}
	err := accept(
		t, p, "settle", fleet.Task{Session: "t", Prompt: "work", Tenant: "a"},
		fleet.Task{Session: "t", Input: "2", Prompt: "work"},
	)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("of one submission: %v", err)
	}
	if err := accept(t, p, "settle", fleet.Task{Session: "s", Input: "2", Prompt: "work", Tenant: "a"}); err != nil {
		t.Error(err)
	}
}

// TestOneSignalForManyInputs: while Temporal has a task of the session, Postgres says which one is next.
func TestOneSignalForManyInputs(t *testing.T) {
	p := fleettest.New(t, &server)
	take := func(known bool, statuses ...string) []index.Parcel {
		t.Helper()
		parcels, err := p.Index.Take(t.Context(), statuses)
		if err != nil || len(parcels) != 1 || parcels[0].Known != known {
			t.Fatalf("%v: %+v, %v", statuses, parcels, err)
		}
		return parcels
	}
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"}, fleet.Task{Session: "s", Input: "2", Prompt: "work"})
	if err := p.Index.MarkSent(t.Context(), take(false, "s/1", "s/2")); err != nil {
		t.Fatal(err)
	}
	p.Submit(t, fleet.Task{Session: "s", Input: "3", Prompt: "work"})
	take(true, "s/3")
	for _, taskID := range []string{"s/1", "s/2"} {
		if err := p.Index.End(t.Context(), *claim(t, p, taskID, "w"), done()); err != nil {
			t.Fatal(err)
		}
	}
	take(false, "s/3")
}

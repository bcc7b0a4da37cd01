package index_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/index"
)

// TestSubmissionsInOppositeOrder of the same tasks do not lock each other, and those of
// each session keep the order of the submission that came first.
func TestSubmissionsInOppositeOrder(t *testing.T) {
	p := fleettest.New(t, &server)
	const rounds, sessions = 5, 250
	for round := range rounds {
		var there []fleet.Task
		for n := range sessions {
			for _, input := range []string{"z", "a"} { // the ids sort otherwise
				there = append(there, completeTask(t, fleet.Task{
					Session: fmt.Sprintf(
						"r%d-%d", round, n*7919%sessions,
					), Input: input, Prompt: "work", Tenant: fmt.Sprintf("t%d-%d", round, n),
				}))
			}
		}
		back := slices.Clone(there)
		slices.Reverse(back)
		errs := make(chan error, 2)
		for _, tasks := range [][]fleet.Task{there, back} {
			go func() { // ends with its submission, which is waited for
				_, err := p.Index.Accept(t.Context(), "settle", tasks)
				errs <- err
			}()
		}
		if err := errors.Join(<-errs, <-errs); err != nil {
			t.Fatal(err)
		}
	}
	statuses, _, err := p.Index.List(t.Context(), index.Filter{Limit: 10 * rounds * sessions})
	if err != nil || len(statuses) != 2*rounds*sessions {
		t.Fatalf("%d tasks: %v", len(statuses), err)
	}
	// Of each round, one submission was the first, as a whole.
	for round := range rounds {
		first := statuses[2*sessions*round].Task.Input
		for n, u := range statuses[2*sessions*round : 2*sessions*(round+1)] {
			if want := []string{first, otherInput(first)}[n%2]; u.Task.Input != want ||
				u.Task.Session[:2] != fmt.Sprint("r", round) {
				t.Fatalf("round %d: task %d is %s", round, n, u.ID)
			}
		}
	}
	var deadlocks int
	if err := p.Pool.QueryRow(t.Context(), `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(&deadlocks); err != nil ||
		deadlocks > 0 {
		t.Errorf("%d deadlocks, %v", deadlocks, err)
	}
}

// otherInput returns the other one of two inputs.
func otherInput(input string) string {
	if input == "z" {
		return "a"
	}
	return "z"
}

// completeTask returns the task with its ids and defaults.
func completeTask(t *testing.T, task fleet.Task) fleet.Task {
	t.Helper()
	complete, err := task.Complete()
	if err != nil {
		t.Fatal(err)
	}
	return complete
}

// TestASubmissionOutlivesADeadlock with who locks sessions in another order.
func TestASubmissionOutlivesADeadlock(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(t, fleet.Task{Session: "a", Prompt: "work"}, fleet.Task{Session: "b", Prompt: "work"})
	tx, err := p.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	lock := func(session string) {
		t.Helper()
		if _, err := tx.Exec(t.Context(), `SELECT FROM settle_fleet.session WHERE id = $1 FOR UPDATE`, session); err != nil {
			t.Fatal(err)
		}
	}
	lock("b")
	done := make(chan error, 1)
	tasks := []fleet.Task{
		completeTask(t, fleet.Task{Session: "a", Input: "2", Prompt: "work"}),
		completeTask(t, fleet.Task{Session: "b", Input: "2", Prompt: "work"}),
	}
	go func() { // ends with the transaction, and is waited for
		_, err := p.Index.Accept(t.Context(), "settle", tasks)
		done <- err
	}()
	for waits := false; !waits; time.Sleep(10 * time.Millisecond) {
		if err := p.Pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	// The one that looks for a deadlock first is refused.
	if _, err := tx.Exec(t.Context(), `SET LOCAL deadlock_timeout = '5min'`); err != nil {
		t.Fatal(err)
	}
	lock("a")
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if c, err := p.Index.Tally(t.Context(), index.Filter{}); err != nil || c.Queued != 4 {
		t.Errorf("%+v, %v", c, err)
	}
}

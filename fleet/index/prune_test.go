package index_test

import (
	"testing"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
)

// TestSubmitDuringPrune: a task for a session that is being deleted waits for that, and
// then the session is made anew: the task is neither deleted nor without a session.
func TestSubmitDuringPrune(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(t, fleet.Task{Session: "s", Input: "1", Prompt: "work"})
	if err := p.Index.End(t.Context(), p.Claim(t, "w"), done()); err != nil {
		t.Fatal(err)
	}
	tx, err := p.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	does := func(sql string) {
		if _, err := tx.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	does(`SELECT FROM settle_fleet.session WHERE id = 's' FOR UPDATE`) // as pglog.Prune does
	task, err := fleet.Task{Session: "s", Input: "2", Prompt: "work"}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	submitted := make(chan error, 1)
	go func() { // ends when the transaction has
		_, err := p.Index.Accept(t.Context(), "settle", []fleet.Task{task})
		submitted <- err
	}()
	for waits := false; !waits; {
		if err := p.Pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-submitted:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
	}
	does(`DELETE FROM settle_fleet.unit WHERE session = 's'`)
	does(`DELETE FROM settle_fleet.session WHERE id = 's'`)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-submitted; err != nil {
		t.Fatal(err)
	}
	if a := p.Claim(t, "w"); a.TaskID != "s/2" {
		t.Errorf("a worker gets %+v", a)
	}
}

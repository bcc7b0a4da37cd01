package pglog

import (
	"testing"
	"time"

	"github.com/settle-agent/settle"
)

// TestPruneYields: appends do not wait for a reader that prune waits for, and prune
// comes to its end when the reader does.
func TestPruneYields(t *testing.T) {
	logs, pool := newLogs(t)
	old := time.Now().UTC().AddDate(0, 0, -40)
	if err := makePartition(t.Context(), pool, old); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `INSERT INTO settle_fleet.session (id, born) VALUES ('old', $1::date)`, old); err != nil {
		t.Fatal(err)
	}
	if err := take(t, logs, "old").Append(sessionEvents("old", 10), settle.Durably); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `UPDATE settle_fleet.session SET updated = born WHERE id = 'old'`); err != nil {
		t.Fatal(err)
	}
	writer := take(t, logs, "new")
	reader, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Rollback(t.Context()) }()
	if _, err := reader.Exec(t.Context(), `SELECT count(*) FROM settle_fleet.batch`); err != nil {
		t.Fatal(err)
	}
	pruned := make(chan error, 1)
	go func() { // ends when the reader has
		_, err := Prune(t.Context(), pool, time.Now().AddDate(0, 0, -30))
		pruned <- err
	}()
	for waits := false; !waits; {
		if err := pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-pruned:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
	}
	if err := writer.Append(sessionEvents("new", 10), settle.Durably); err != nil { // with the reader still there
		t.Fatal(err)
	}
	if err := reader.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-pruned; err != nil {
		t.Error(err)
	}
	if got := read(t, logs, "new"); len(got) != 10 {
		t.Errorf("%d events were appended", len(got))
	}
}

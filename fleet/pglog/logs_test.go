package pglog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/journal/journaltest"
	"github.com/settle-agent/settle/internal/test/longlog"
)

// newLogs returns logs in a database of their own.
func newLogs(t testing.TB) (*Logs, *pgxpool.Pool) {
	t.Helper()
	pool := server.Pool(t)
	if _, _, err := Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	return openLogs(t, pool), pool
}

func openLogs(t testing.TB, pool *pgxpool.Pool) *Logs {
	t.Helper()
	logs, err := Open(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(logs.Close)
	return logs
}

// store is a log as the journal wants it.
type store struct{ settle.Log }

func (s store) Append(batch []event.Event, sync journal.Sync) error {
	if sync == journal.Lazily {
		return s.Log.Append(batch, settle.Lazily)
	}
	return s.Log.Append(batch, settle.Durably)
}

// TestStore: logs in the database pass the tests of every store of the journal.
func TestStore(t *testing.T) {
	logs, _ := newLogs(t)
	journaltest.Run(t, func(t *testing.T, session string) *journal.Log {
		t.Helper()
		log := take(t, logs, session)
		state := event.State{Session: session}
		for e, err := range log.Read(t.Context(), 0) {
			if err == nil {
				state, err = event.Fold(state, e)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return journal.New(store{log}, state)
	})
}

// take opens a session's log with its next epoch.
func take(t testing.TB, logs *Logs, session string) settle.Log {
	t.Helper()
	log, err := logs.OpenLog(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// sessionEvents returns the first n events of a session.
func sessionEvents(session string, n int) []event.Event {
	return slices.Collect(longlog.Events(session, n, longlog.Few))[:n]
}

// read returns what the log of a session has.
func read(t *testing.T, logs *Logs, session string) (out []event.Event) {
	t.Helper()
	for e, err := range logs.Read(t.Context(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// TestAnOldEpochIsRefused by every append, and says who it is.
func TestAnOldEpochIsRefused(t *testing.T) {
	logs, _ := newLogs(t)
	events := sessionEvents("s1", 20)
	first := take(t, logs, "s1")
	if err := first.Append(events[:5], settle.Durably); err != nil {
		t.Fatal(err)
	}
	second := take(t, logs, "s1")
	for _, d := range []settle.Durability{settle.Durably, settle.Lazily} {
		var fenced *FencedError
		if err := first.Append(events[5:6], d); !errors.As(err, &fenced) || fenced.Epoch != 1 || fenced.Now != 2 {
			t.Errorf("%s: %v", d, err)
		}
	}
	if err := second.Append(events[5:8], settle.Lazily); err != nil {
		t.Fatal(err)
	}
	logs.Grant("s1", 1) // an attempt that is over
	if _, err := logs.OpenLog(t.Context(), "s1"); !errors.As(err, new(*FencedError)) {
		t.Errorf("opening with an old epoch: %v", err)
	}
	if err := second.Append(events[5:8], settle.Durably); err == nil {
		t.Error("the same events were appended twice")
	}
	if d := cmp.Diff(events[:8], read(t, logs, "s1")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func commits(c *committer) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.commits
}

// TestClosingDoesNotWaitForTheDisk: the commit of the task's result follows.
func TestClosingDoesNotWaitForTheDisk(t *testing.T) {
	logs, _ := newLogs(t)
	log := take(t, logs, "s")
	events := sessionEvents("s", 2)
	events[1].Data, events[1].Turn = event.SessionClosed{}, ""
	for n, durable := range []int64{1, 1} { // commits after each append
		if err := log.Append(events[n:n+1], settle.Durably); err != nil {
			t.Fatal(err)
		}
		if d, all := commits(logs.durableCommitter), logs.Commits(); d != durable || all != int64(n+1) {
			t.Errorf("after event %d: %d of %d commits are durable", n+1, d, all)
		}
	}
	if got := read(t, logs, "s"); len(got) != 2 {
		t.Errorf("the log has %d events", len(got))
	}
}

// TestAppendsOfManySessionsShareTransactions.
func TestAppendsOfManySessionsShareTransactions(t *testing.T) {
	logs, _ := newLogs(t)
	const sessions, appends = 100, 10
	open := make([]settle.Log, sessions)
	for n := range open {
		open[n] = take(t, logs, fmt.Sprintf("s%d", n))
	}
	var wg sync.WaitGroup
	errs := make([]error, sessions)
	for n := range open {
		wg.Go(func() {
			for _, e := range sessionEvents(fmt.Sprintf("s%d", n), appends) {
				errs[n] = errors.Join(errs[n], open[n].Append([]event.Event{e}, settle.Durably))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if n := logs.Commits(); n > sessions*appends/2 {
		t.Errorf("%d appends took %d transactions", sessions*appends, n)
	}
	for n := range open {
		if got := read(t, logs, fmt.Sprintf("s%d", n)); len(got) != appends {
			t.Errorf("session %d has %d events", n, len(got))
		}
	}
}

// TestFollowersHaveNoGap, also when their connection is lost, in another process's logs.
func TestFollowersHaveNoGap(t *testing.T) {
	logs, pool := newLogs(t)
	others := openLogs(t, pgtest.Connect(t, pool.Config().ConnString()))
	events := sessionEvents("s1", 400)
	log := take(t, logs, "s1")
	if err := log.Append(events[:10], settle.Lazily); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	seen := make([][]event.Event, 3)
	errs := make([]error, len(seen))
	for n := range seen {
		wg.Go(func() {
			for e, err := range others.Follow(ctx, "s1", uint64(n*7)) {
				if err != nil {
					errs[n] = err
					return
				}
				if seen[n] = append(seen[n], e); int(e.Seq) == len(events) {
					return
				}
			}
		})
	}
	for n := 10; n < len(events); n += 3 {
		if err := log.Append(events[n:min(n+3, len(events))], settle.Lazily); err != nil {
			t.Fatal(err)
		}
		if n%60 == 10 {
			if _, err := pool.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'`); err != nil {
				t.Fatal(err)
			}
		}
	}
	wg.Wait()
	for n := range seen {
		if errs[n] != nil {
			t.Error(errs[n])
		}
		if d := cmp.Diff(events[n*7:], seen[n]); d != "" {
			t.Errorf("follower %d (-want +got):\n%s", n, d)
		}
	}
	for _, err := range others.Follow(ctx, "nobody", 0) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a session that there is not: %v", err)
		}
	}
}

// TestConnectionsAreCut while appends run: each is stored once, and nobody is told
// that it was not.
func TestConnectionsAreCut(t *testing.T) {
	logs, pool := newLogs(t)
	events := sessionEvents("s1", 200)
	log := take(t, logs, "s1")
	for n, e := range events {
		var wg sync.WaitGroup
		if n%20 == 0 {
			wg.Go(func() { // before the append, in its middle, or after it
				_, _ = pool.Exec(
					t.Context(),
					`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
				)
			})
		}
		if err := log.Append([]event.Event{e}, []settle.Durability{settle.Lazily, settle.Durably}[n%2]); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
	if d := cmp.Diff(events, read(t, logs, "s1")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestMigrate(t *testing.T) {
	pool := server.Pool(t)
	if _, err := Open(t.Context(), pool); !errors.As(err, new(*VersionError)) ||
		!strings.Contains(err.Error(), "settle-fleet migrate") {
		t.Errorf("before: %v", err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for n := range errs {
		wg.Go(func() { _, _, errs[n] = Migrate(t.Context(), pool) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if from, to, err := Migrate(t.Context(), pool); err != nil || from != to || to != SchemaNumber() {
		t.Errorf("%d, %d, %v", from, to, err)
	}
	var left int
	const lease = `SELECT count(*) FROM pg_class WHERE relnamespace = 'settle_fleet'::regnamespace
		AND relname IN ('worker', 'unit_worker')`
	if err := pool.QueryRow(t.Context(), lease).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d objects of the lease are left, %v", left, err)
	}
}

// TestMigrateWaitsForAnother, also if that one takes longer than a migration waits for a table.
func TestMigrateWaitsForAnother(t *testing.T) {
	pool := server.Pool(t)
	another, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = another.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := another.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1)`, migrationLock); err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() { // ends with the other one, and is waited for
		_, _, err := Migrate(t.Context(), pool)
		migrated <- err
	}()
	const waiting = `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity USING (pid) JOIN pg_database d
		ON d.oid = l.database WHERE NOT granted AND d.datname = current_database()
		AND clock_timestamp() - xact_start > $1::interval)`
	for waits := false; !waits; {
		if err := pool.QueryRow(t.Context(), waiting, lockTimeout+lockTimeout/4).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := another.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Error(err)
	}
}

// TestMigrateLetsWorkersPass: while a long query keeps a table, workers do not wait behind the migration for long.
func TestMigrateLetsWorkersPass(t *testing.T) {
	pool := server.Pool(t)
	if _, _, err := Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `CREATE TABLE settle_fleet.worker ();
		CREATE INDEX unit_worker ON settle_fleet.unit (worker);
		ALTER TABLE settle_fleet.tenant ADD slots integer, ADD begun integer, ADD next integer;
		UPDATE settle_fleet.version SET version = version - 1`); err != nil {
		t.Fatal(err)
	}
	long, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = long.Rollback(context.WithoutCancel(t.Context())) }()
	const write = `UPDATE settle_fleet.unit SET lost = 0`
	if _, err := long.Exec(t.Context(), write); err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() { // ends with the long query, and is waited for
		_, _, err := Migrate(t.Context(), pool)
		migrated <- err
	}()
	for waits := false; !waits; {
		const waiting = `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)`
		if err := pool.QueryRow(t.Context(), waiting).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pool.Exec(t.Context(), write); err != nil { // it waits behind the migration
		t.Error(err)
	}
	if err := long.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Error(err)
	}
}

// TestVersions: a program works with the schema of the version before, and with a newer one as
// long as that says so; the other cases say what to do.
func TestVersions(t *testing.T) {
	known := len(migrations())
	if oldestProgram >= known || oldestSchema >= known {
		t.Errorf("schema %d is for programs from %d on, which need %d", known, oldestProgram, oldestSchema)
	}
	const newer = "use the newer settle-fleet"
	for name, c := range map[string]struct {
		sql     string // about the schema
		check   string // what Check says
		migrate string
	}{
		"this one":                    {fmt.Sprintf(`version = %d`, known), "", ""},
		"the one before":              {fmt.Sprintf(`version = %d`, known-1), "", "does not exist"},
		"too old":                     {`version = 3`, "run settle-fleet migrate", "already exists"},
		"a newer one":                 {fmt.Sprintf(`version = %d, oldest = %d`, known+1, known), "", ""},
		"two newer ones":              {fmt.Sprintf(`version = %d, oldest = %d`, known+2, known), "", ""},
		"a newer one that contracted": {fmt.Sprintf(`version = %d, oldest = %d`, known+1, known+1), newer, newer},
		"a newer one of before":       {fmt.Sprintf(`version = %d, oldest = NULL`, known+1), newer, newer},
	} {
		pool := server.Pool(t)
		if _, _, err := Migrate(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Exec(t.Context(), `UPDATE settle_fleet.version SET `+c.sql); err != nil {
			t.Fatal(err)
		}
		says := func(of string, err error, want string) {
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v", name, of, err)
			}
		}
		says("check", Check(t.Context(), pool), c.check)
		_, _, err := Migrate(t.Context(), pool)
		says("migrate", err, c.migrate)
	}
}

// TestFollowersOfStrangeIDs: an id may have white space that is no space. A group of
// appends of which none counts wakes nobody.
func TestFollowersOfStrangeIDs(t *testing.T) {
	logs, _ := newLogs(t)
	const session = "a\u00a0b\rc"
	events := sessionEvents(session, 2)
	log := take(t, logs, session)
	if err := log.Append(events[:1], settle.Durably); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := 0
	for _, err := range logs.Follow(ctx, session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == len(events) {
			break
		}
		// It listens by now, or reads again when it does.
		if err := log.Append(events[1:], settle.Durably); err != nil {
			t.Fatal(err)
		}
	}
	if seen != len(events) {
		t.Errorf("%d of %d events came", seen, len(events))
	}
	wake, leave := logs.hub.join(session)
	defer leave()
	logs.hub.onNotification("")
	select {
	case <-wake:
		t.Error("a reader was woken by nobody's append")
	default:
	}
	logs.hub.onNotification("x " + session)
	select {
	case <-wake:
	default:
		t.Error("a reader was not woken")
	}
}

// TestPrune drops the days in which nothing has happened since, and no others.
func TestPrune(t *testing.T) {
	logs, pool := newLogs(t)
	for n, session := range []string{"old", "idle", "new"} {
		day := time.Now().UTC().AddDate(0, 0, []int{-40, -35, 0}[n])
		if err := makePartition(t.Context(), pool, day); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Exec(t.Context(), `INSERT INTO settle_fleet.session (id, born) VALUES ($1, $2::date)`, session, day); err != nil {
			t.Fatal(err)
		}
		if err := take(t, logs, session).Append(sessionEvents(session, 10), settle.Durably); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pool.Exec(t.Context(), `UPDATE settle_fleet.session SET updated = born WHERE id = 'old'`); err != nil {
		t.Fatal(err)
	}
	pruned, err := Prune(t.Context(), pool, time.Now().AddDate(0, 0, -30))
	if err != nil || len(pruned) != 2 || pruned[0].Kept || pruned[0].Sessions != 1 || !pruned[1].Kept {
		t.Errorf("%+v, %v", pruned, err)
	}
	for _, err := range logs.Read(t.Context(), "old", 0) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what was dropped: %v", err)
		}
	}
	for _, session := range []string{"idle", "new"} {
		if got := read(t, logs, session); len(got) != 10 {
			t.Errorf("%s has %d events", session, len(got))
		}
	}
}

package pglog

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
)

// claimed opens a session's log with an epoch that was taken for it, as for an attempt at a task.
func claimed(t *testing.T, logs *Logs, pool *pgxpool.Pool, session string) *sessionLog {
	t.Helper()
	var epoch int64
	err := pool.QueryRow(t.Context(), `INSERT INTO settle_fleet.session (id, epoch) VALUES ($1, 1)
		ON CONFLICT (id) DO UPDATE SET epoch = session.epoch + 1 RETURNING epoch`, session).Scan(&epoch)
	if err != nil {
		t.Fatal(err)
	}
	logs.Grant(session, epoch)
	return take(t, logs, session).(*sessionLog)
}

// fold returns the state after the events that an opened log has, and how many it had to read.
func fold(t *testing.T, log *sessionLog) (state event.State, n int) {
	t.Helper()
	if state = log.State(); state.Seq == 0 {
		state.Session = log.session
	}
	for e, err := range log.Read(t.Context(), state.Seq) {
		if err == nil {
			state, err = event.Fold(state, e)
		}
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return state, n
}

// write appends events to an opened log, and gives its state back, as a session does at its end.
func write(t *testing.T, log *sessionLog, events []event.Event) (read int) {
	t.Helper()
	state, read := fold(t, log)
	if err := log.Append(events, settle.Durably); err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		var err error
		if state, err = event.Fold(state, e); err != nil {
			t.Fatal(err)
		}
	}
	log.Keep(state)
	return read
}

// TestStatesOfSessions: a process that opens a session again reads nothing of what it wrote. It reads all
// events if another process was the writer in between, even one that wrote nothing, if the session was
// made anew, or if the database is an older one.
func TestStatesOfSessions(t *testing.T) {
	logs, pool := newLogs(t)
	const first, more = 600, 20
	all := sessionEvents("s", first+4*more)
	if size := write(t, claimed(t, logs, pool, "s"), all[:first]); size != 0 {
		t.Errorf("a new log has %d events", size)
	}
	end := first
	next := func() []event.Event { end += more; return all[end-more : end] }
	if read := write(t, claimed(t, logs, pool, "s"), next()); read != 0 {
		t.Errorf("after its own turn, a worker read %d events", read)
	}
	logs.Grant("s", 2) // an attempt opens the log twice, if an earlier worker had died
	if read := write(t, take(t, logs, "s").(*sessionLog), next()); read != 0 {
		t.Errorf("in the same attempt, a worker read %d events", read)
	}
	otherState := openLogs(t, pool)
	if read := write(t, claimed(t, otherState, pool, "s"), next()); read != end-more {
		t.Errorf("another worker read %d of %d events", read, end-more)
	}
	if _, read := fold(t, claimed(t, logs, pool, "s")); read != end {
		t.Errorf("after another worker's turn, a worker read %d of %d events", read, end)
	}
	write(t, claimed(t, logs, pool, "s"), next())
	claimed(t, otherState, pool, "s")
	if _, read := fold(t, claimed(t, logs, pool, "s")); read != end {
		t.Errorf("after another worker's opening, a worker read %d of %d events", read, end)
	}
	for change, sql := range map[string]string{
		"an older database": `UPDATE settle_fleet.session SET seq = seq - 1 WHERE id = 's'`,
		"recover":           `UPDATE settle_fleet.session SET epoch = epoch + 1048576 WHERE id = 's'`,
		"a new session":     `UPDATE settle_fleet.session SET born = born - interval '1 s' WHERE id = 's'`,
	} {
		log := claimed(t, logs, pool, "s")
		state, _ := fold(t, log)
		log.Keep(state)
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		if kept := claimed(t, logs, pool, "s").State(); kept.Seq != 0 {
			t.Errorf("the state was kept in spite of %s", change)
		}
	}
}

// TestStatesAreBounded: the states of short logs are not kept, and together the kept ones are not too long.
func TestStatesAreBounded(t *testing.T) {
	var s states
	for _, session := range strings.Split("abc", "") {
		s.add(sessionState{session: session, bytes: maxKeptBytes / 2})
	}
	s.add(sessionState{session: "short", bytes: minKeptBytes - 1})
	s.add(sessionState{session: "long", bytes: maxKeptBytes + 1})
	if len(s.all) != 2 || s.all[0].session != "b" || s.bytes != maxKeptBytes {
		t.Errorf("%d states of %d bytes", len(s.all), s.bytes)
	}
	if k := s.take("c"); k.session != "c" || s.bytes != maxKeptBytes/2 || s.take("c").session != "" {
		t.Errorf("%+v, %d bytes", k, s.bytes)
	}
}

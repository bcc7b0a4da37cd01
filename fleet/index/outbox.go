package index

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// SendDelay is the time in which a program must send the tasks that it has taken from the outbox; then
// another program can take them.
const SendDelay = 30 * time.Second

// maxKnownAge is the maximum age of a task's submission or claim from which it follows that its session has a
// workflow.
const maxKnownAge = 2 * time.Minute

// Parcel is a group of tasks to send to Temporal: those of one session and task queue, in their order.
type Parcel struct {
	Session, Queue string
	Refs           []Ref
	// Known says that the session's workflow needs no signal: it has another task since a moment ago, and when that
	// task's turn has ended, Postgres says which one is next. Otherwise many inputs within one turn exceed Temporal's
	// limit of signals. Of an older task, the workflow may be lost: a signal starts it again.
	Known bool

	sendUntil []time.Time // the ends of the time to send each task, as in the outbox
}

// takeFromOutbox takes tasks from the outbox for a while, in which no other program can take them.
const takeFromOutbox = `
WITH c AS (
	SELECT id FROM settle_fleet.unit WHERE %s ORDER BY outbox, place LIMIT $2 FOR UPDATE SKIP LOCKED
), u AS (
	UPDATE settle_fleet.unit u SET outbox = now() + $3::interval FROM c WHERE u.id = c.id RETURNING u.*
)
SELECT u.session, u.queue, u.outbox, EXISTS (
	SELECT FROM settle_fleet.unit o
	WHERE o.session = u.session AND o.queue = u.queue AND o.state <> 'ended' AND o.outbox IS NULL
		AND greatest(o.created, o.taken) > now() - $4::interval
), ` + refColumns + `
FROM u LEFT JOIN settle_fleet.tenant t ON t.name = u.tenant ORDER BY u.place`

// TakeDue takes up to limit tasks from the outbox whose time to be sent has passed.
func (x *Index) TakeDue(ctx context.Context, limit int) ([]Parcel, error) {
	return x.parcels(ctx, `outbox <= now() AND $1::text[] IS NULL`, nil, limit)
}

// Take takes the tasks with the ids from the outbox, as far as they are in it.
func (x *Index) Take(ctx context.Context, ids []string) ([]Parcel, error) {
	return x.parcels(ctx, `outbox IS NOT NULL AND id = ANY($1)`, ids, len(ids))
}

func (x *Index) parcels(ctx context.Context, condition string, ids []string, limit int) ([]Parcel, error) {
	rows, err := x.pool.Query(ctx, fmt.Sprintf(takeFromOutbox, condition), ids, limit, SendDelay, maxKnownAge)
	if err != nil {
		return nil, fmt.Errorf("cannot read the outbox: %w", err)
	}
	at, all := map[[2]string]int{}, []Parcel(nil)
	var p Parcel
	var sendUntil time.Time
	var ref Ref
	fields := append([]any{&p.Session, &p.Queue, &sendUntil, &p.Known}, ref.fields()...)
	_, err = pgx.ForEachRow(rows, fields, func() error {
		key := [2]string{p.Session, p.Queue}
		n, found := at[key]
		if !found {
			n = len(all)
			at[key], all = n, append(all, p)
		}
		all[n].Refs, all[n].sendUntil = append(all[n].Refs, ref), append(all[n].sendUntil, sendUntil)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the outbox: %w", err)
	}
	return all, nil
}

// MarkSent removes tasks from the outbox, as they were taken from it. A task that went into the outbox once more
// since then, such as with a verdict, stays there. MarkSent does not wait for the disk: a task whose removal a
// crash of the database undoes is sent again, which changes nothing.
func (x *Index) MarkSent(ctx context.Context, parcels []Parcel) error {
	var ids []string
	var sendUntil []time.Time
	for _, p := range parcels {
		for n, ref := range p.Refs {
			ids, sendUntil = append(ids, ref.TaskID), append(sendUntil, p.sendUntil[n])
		}
	}
	batch := &pgx.Batch{} // one transaction
	batch.Queue(`SELECT set_config('synchronous_commit', 'off', true)`)
	batch.Queue(`UPDATE settle_fleet.unit u SET outbox = NULL
		FROM unnest($1::text[], $2::timestamptz[]) AS s (id, taken)
		WHERE u.id = s.id AND u.outbox = s.taken`, ids, sendUntil)
	if err := x.pool.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("cannot remove tasks from the outbox: %w", err)
	}
	return nil
}

// WithOpenTasks returns those of the sessions that have tasks which have not ended and which Temporal
// was sent.
func (x *Index) WithOpenTasks(ctx context.Context, queue string, sessions []string) ([]string, error) {
	rows, err := x.pool.Query(ctx, `SELECT DISTINCT session FROM settle_fleet.unit
		WHERE session = ANY($1) AND state <> 'ended' AND outbox IS NULL AND queue = $2`, sessions, queue)
	if err == nil {
		var open []string
		if open, err = pgx.CollectRows(rows, pgx.RowTo[string]); err == nil {
			return open, nil
		}
	}
	return nil, fmt.Errorf("cannot find the open tasks of sessions: %w", err)
}

// IdleSessions returns up to limit sessions that have tasks which have not ended, which Temporal was sent, and which
// have not changed for a while. The sessions are in the order of their hashes, from the one that follows after, and
// begin again at the end: calls with the last session of the call before walk through all of them.
func (x *Index) IdleSessions(
	ctx context.Context, queue string, idle time.Duration, after string, limit int,
) ([]string, error) {
	rows, err := x.pool.Query(ctx, `SELECT session FROM (
		SELECT DISTINCT session FROM settle_fleet.unit WHERE queue = $1 AND state <> 'ended' AND outbox IS NULL
			AND greatest(created, taken) < now() - $2::interval
	) s ORDER BY md5(session) <= md5($3), md5(session) LIMIT $4`, queue, idle, after, limit)
	if err == nil {
		var sessions []string
		if sessions, err = pgx.CollectRows(rows, pgx.RowTo[string]); err == nil {
			return sessions, nil
		}
	}
	return nil, fmt.Errorf("cannot find sessions whose tasks wait: %w", err)
}

const resend = `UPDATE settle_fleet.unit SET outbox = now()
WHERE queue = $1 AND ($2 = '' OR session = $2) AND state <> 'ended' AND outbox IS NULL`

// Resend puts the tasks of a session which have not ended, and which Temporal was sent, into the outbox once more, and
// returns how many. Temporal ignores signals of tasks that it has. Without a session, Resend takes all tasks of the
// queue.
func (x *Index) Resend(ctx context.Context, queue, session string) (tasks int64, err error) {
	tag, err := x.pool.Exec(ctx, resend, queue, session)
	if err != nil {
		return 0, fmt.Errorf("cannot put tasks into the outbox: %w", err)
	}
	return tag.RowsAffected(), nil
}

// Abandonment is a session that Temporal does not run any more.
type Abandonment struct {
	Queue, Session string
	By             string    // the requester of the cancellation
	Before         time.Time // tasks that were submitted later are not affected
}

// Abandon cancels the tasks of a session which have not ended and which Temporal was sent, and returns how
// many. Tasks that a worker has had go into the outbox once more, for a worker that ends them. Tasks that were
// submitted later go there too, for a workflow of their own.
func (x *Index) Abandon(ctx context.Context, a Abandonment) (tasks int64, err error) {
	result, err := cancelledResult(a.By)
	if err != nil {
		return 0, err
	}
	batch := &pgx.Batch{} // one transaction
	batch.Queue(`UPDATE settle_fleet.unit SET `+cancelTask+`,
		outbox = CASE WHEN state = 'queued' AND attempt = 0 THEN NULL ELSE now() END
		WHERE session = $1 AND queue = $4 AND state <> 'ended' AND outbox IS NULL AND created <= $5`,
		a.Session, a.By, result, a.Queue, a.Before).
		Exec(func(tag pgconn.CommandTag) error { tasks = tag.RowsAffected(); return nil })
	batch.Queue(resend, a.Queue, a.Session) // these are left
	if err := x.pool.SendBatch(ctx, batch).Close(); err != nil {
		return 0, fmt.Errorf("cannot cancel the tasks of session %s: %w", a.Session, err)
	}
	return tasks, nil
}

// Recover raises the fencing epochs of all sessions, also of those that a restored database does not know and that are
// made again, so that no worker of before can write their logs. It puts the tasks that have not ended into the
// outbox, and returns how many they are.
func (x *Index) Recover(ctx context.Context) (tasks int64, err error) {
	err = pgx.BeginFunc(ctx, x.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE settle_fleet.session SET epoch = epoch + $1`, recoverStep); err != nil {
			return err
		}
		var floor int64
		if err := tx.QueryRow(ctx, epochFloor, recoverStep).Scan(&floor); err != nil {
			return err
		}
		// The floor is the default of the column, so that programs of every version begin there.
		if _, err := tx.Exec(
			ctx, fmt.Sprintf(`ALTER TABLE settle_fleet.session ALTER COLUMN epoch SET DEFAULT %d`, floor),
		); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `UPDATE settle_fleet.unit SET outbox = now() WHERE state <> 'ended'`)
		tasks = tag.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cannot recover the fleet: %w", err)
	}
	return tasks, nil
}

// epochFloor is above all epochs that sessions have, and above those that sessions began with.
const epochFloor = `
SELECT greatest((SELECT max(epoch) FROM settle_fleet.session),
	substring(pg_get_expr(d.adbin, d.adrelid) from '\d+')::bigint + $1)
FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
WHERE d.adrelid = 'settle_fleet.session'::regclass AND a.attname = 'epoch'`

// LastChange returns the time of the last change of a session in the database; zero if there is no session. A
// restored database does not know later changes.
func (x *Index) LastChange(ctx context.Context) (at time.Time, err error) {
	var newest *time.Time
	if err := x.pool.QueryRow(ctx, `SELECT max(updated) FROM settle_fleet.session`).Scan(&newest); err != nil {
		return at, fmt.Errorf("cannot find the newest change in the database: %w", err)
	}
	if newest != nil {
		at = *newest
	}
	return at, nil
}

// recoverStep is more than the epochs that a session can have had since the backup that the
// database was restored from.
const recoverStep = 1 << 20

package index

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
)

// Index is the index in a database that was migrated. Its methods may be called by several
// goroutines.
type Index struct{ pool *pgxpool.Pool }

// Open returns the index in the pool's database.
func Open(pool *pgxpool.Pool) *Index { return &Index{pool: pool} }

const (
	// deadlockDetected is Postgres's code of a deadlock: nothing was done, since another transaction has locked
	// sessions in another order, such as an append to several logs.
	deadlockDetected = "40P01"
	// maxAcceptTries is the maximum number of attempts to store tasks then, and acceptDelay the wait between
	// them, in which the other transaction ends.
	maxAcceptTries = 10
	acceptDelay    = 50 * time.Millisecond
)

// Tasks are stored in one transaction of three statements: each sees what the one before has locked.
//
// lock locks the sessions of the tasks, and makes those that are missing. Sessions are locked in the order of their
// ids: two submissions of the same tasks wait for each other only in one direction. A session that is there does not
// change. If a transaction deletes it, such as that of settle-fleet prune, lock waits for its end and makes it again.
const lock = `
WITH t AS (
	INSERT INTO settle_fleet.tenant (name) SELECT DISTINCT unnest($2::text[]) AS name ORDER BY name
	ON CONFLICT (name) DO NOTHING
)
INSERT INTO settle_fleet.session (id) SELECT DISTINCT unnest($1::text[]) AS id ORDER BY id
ON CONFLICT (id) DO UPDATE SET updated = session.updated`

// compare compares new tasks with their sessions' tasks, and returns the first [conflict]. A session
// has the tenant of its first task, and the task queue of its open tasks: the workflow of a second queue
// would take the session's turn from the worker of the first. Sessions that [lock] has made have no tasks.
const compare = `
SELECT set_config('settle_fleet.conflict', coalesce((
	SELECT jsonb_build_object('session', n.session, 'tenant', f.tenant <> n.tenant, 'queue', o.queue)::text
	FROM (
		SELECT DISTINCT t.session, t.tenant FROM unnest($1::text[], $2::text[], $3::text[]) AS t (id, session, tenant)
		JOIN settle_fleet.session s ON s.id = t.session AND s.updated <> now()
		WHERE NOT EXISTS (SELECT FROM settle_fleet.unit u WHERE u.id = t.id)
	) n
	CROSS JOIN LATERAL (
		SELECT tenant FROM settle_fleet.unit u WHERE u.session = n.session ORDER BY place LIMIT 1
	) f
	LEFT JOIN LATERAL (
		SELECT queue FROM settle_fleet.unit u WHERE u.session = n.session AND state <> 'ended' ORDER BY place LIMIT 1
	) o ON true
	WHERE f.tenant <> n.tenant OR o.queue <> $4 LIMIT 1
), ''), true)`

// insert stores tasks, unless there is a conflict. Their places are in the order of the tasks, but rows are made in
// the order of their ids.
const insert = `
INSERT INTO settle_fleet.unit (id, session, input, task, tenant, queue, outbox, place) OVERRIDING SYSTEM VALUE
SELECT id, session, input, task::jsonb, tenant, $6, now() + $7::interval, place FROM (
	SELECT t.*, nextval('settle_fleet.unit_place_seq') AS place FROM (
		SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
		WITH ORDINALITY AS t (id, session, input, task, tenant, n) ORDER BY n
	) t WHERE current_setting('settle_fleet.conflict') = ''
) t ORDER BY id
ON CONFLICT (id) DO NOTHING RETURNING id`

// conflict is a session that new tasks cannot join.
type conflict struct {
	Session string
	Tenant  bool   // the session is another tenant's
	Queue   string // of its open tasks
}

func (c conflict) err(queue string) error {
	if c.Tenant {
		return fmt.Errorf("session %q has tasks of another tenant; use another session", c.Session)
	}
	return fmt.Errorf(
		"the open tasks of session %q are in the task queue %q, and these are for %q; submit them with --queue %s",
		c.Session, c.Queue, queue, c.Queue,
	)
}

// rows holds the columns of tasks.
type rows struct{ ids, sessions, inputs, raw, tenants []string }

func columns(tasks []fleet.Task) (r rows, err error) {
	tenants := map[string]string{}
	for _, t := range tasks {
		text, err := json.Marshal(t)
		if err != nil {
			return r, fmt.Errorf("cannot encode task %s: %w", t.ID(), err)
		}
		tenant := cmp.Or(t.Tenant, fleet.DefaultTenant)
		if sessionTenant, found := tenants[t.Session]; found && sessionTenant != tenant {
			return r, conflict{Session: t.Session, Tenant: true}.err("")
		}
		tenants[t.Session] = tenant
		r.ids, r.sessions, r.inputs = append(r.ids, t.ID()), append(r.sessions, t.Session), append(r.inputs, t.Input)
		r.raw, r.tenants = append(r.raw, string(text)), append(r.tenants, tenant)
	}
	return r, nil
}

// Accept stores tasks that are complete, all or none, and returns the ids of those that were
// not known. They are for workers of the task queue, and in the outbox: the caller has
// [SendDelay] to send them before others do. It refuses new tasks of a session that has tasks of another tenant, or
// open tasks in another queue.
func (x *Index) Accept(ctx context.Context, queue string, tasks []fleet.Task) (newIDs []string, err error) {
	r, err := columns(tasks)
	for try := 1; err == nil; try++ {
		if newIDs, err = x.store(ctx, queue, r); err == nil {
			return newIDs, nil
		}
		pgErr := (*pgconn.PgError)(nil)
		if !errors.As(err, &pgErr) || pgErr.Code != deadlockDetected || try == maxAcceptTries {
			break
		}
		select {
		case <-time.After(acceptDelay):
			err = nil
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return nil, fmt.Errorf("cannot submit %d tasks: %w", len(tasks), err)
}

func (x *Index) store(ctx context.Context, queue string, r rows) (newIDs []string, err error) {
	batch, conflictJSON := &pgx.Batch{}, "" // one transaction
	batch.Queue(lock, r.sessions, r.tenants)
	batch.Queue(compare, r.ids, r.sessions, r.tenants, queue).
		QueryRow(func(row pgx.Row) error { return row.Scan(&conflictJSON) })
	batch.Queue(insert, r.ids, r.sessions, r.inputs, r.raw, r.tenants, queue, SendDelay).
		Query(func(rows pgx.Rows) error {
			newIDs, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
	if err := x.pool.SendBatch(ctx, batch).Close(); err != nil || conflictJSON == "" {
		return newIDs, err
	}
	var c conflict
	if err := json.Unmarshal([]byte(conflictJSON), &c); err != nil {
		return nil, err
	}
	return nil, c.err(queue)
}

// CancelChannel is notified of tasks that were cancelled while a worker runs them: the task's
// id, a space, and the requester.
const CancelChannel = "settle_fleet_cancel"

// Cancellation is the result of a request for the end of a task.
type Cancellation struct {
	// Open says that the task had not ended, and Running that a worker runs it.
	Open, Running bool
	// By is the first requester, who counts.
	By string
	// Queue is the task queue of the task.
	Queue string
}

// cancelTask notes a request of $2 for the end of tasks. Those that no worker has had end at once,
// with the result $3; those that wait for a person end with what they have.
const cancelTask = `cancel = coalesce(cancel, $2),
		state = CASE WHEN state = 'queued' AND attempt = 0 THEN 'ended' ELSE state END,
		task = CASE WHEN outcome = 'held' THEN ` + expireHeld + ` ELSE task END,
		result = CASE WHEN outcome = 'held' THEN ` + cancelHeld + `
			WHEN state = 'queued' AND attempt = 0 THEN $3::jsonb END,
		ended = CASE WHEN outcome = 'held' OR state = 'queued' AND attempt = 0 THEN now() END`

// cancelHeld is the result of a held task that $2 cancels.
const cancelHeld = `(result - 'held') || jsonb_build_object('outcome', 'aborted', 'reason', 'interrupted',
	'message', 'cancelled by ' || $2 || ' while a call waited for a person')`

// expireHeld is the task of a held task that $2 cancels: the verdicts that it waits for are expired, so that a late
// verdict finds the reason.
const expireHeld = `jsonb_set(task, '{verdicts}', coalesce(task -> 'verdicts', '[]') || coalesce((
	SELECT jsonb_agg(jsonb_build_object('call', h -> 'id', 'verdict', 'expired', 'by', $2::text, 'at', now()))
	FROM jsonb_array_elements(result -> 'held') h
	WHERE NOT coalesce(task -> 'verdicts', '[]') @> jsonb_build_array(jsonb_build_object('call', h -> 'id'))), '[]'))`

// cancelledResult returns the result, as JSON, of a task that was cancelled before a worker took it.
func cancelledResult(by string) (string, error) {
	result, err := json.Marshal(fleet.Result{
		Outcome: event.Aborted,
		Reason:  event.Interrupted,
		Message: "cancelled by " + by + " before a worker took it",
	})
	return string(result), err
}

// cancel notes a requester, and notifies the worker of the task when that is committed.
const cancel = `
WITH c AS (
	UPDATE settle_fleet.unit SET ` + cancelTask + `,
		outbox = CASE WHEN state = 'queued' AND attempt = 0 THEN NULL ELSE outbox END
	WHERE id = $1 AND (state <> 'ended' OR outcome = 'held') AND ($5::timestamptz IS NULL OR created <= $5)
	RETURNING state = 'running' AS running, cancel, queue
)
SELECT running, cancel, queue, CASE WHEN running THEN pg_notify($4, $1 || ' ' || left(cancel, 1000))::text END
FROM c`

// Cancel notes the request for the end of a task. A task that no worker has had ends at once; the
// worker of one that runs is notified. Of one that was given back, a worker says how far it came.
func (x *Index) Cancel(ctx context.Context, taskID, by string) (Cancellation, error) {
	return x.cancel(ctx, taskID, by, nil)
}

// CancelBefore is Cancel, unless the task was submitted after the request.
func (x *Index) CancelBefore(ctx context.Context, taskID, by string, request time.Time) (Cancellation, error) {
	return x.cancel(ctx, taskID, by, &request)
}

func (x *Index) cancel(ctx context.Context, taskID, by string, submittedBefore *time.Time) (c Cancellation, err error) {
	result, err := cancelledResult(by)
	if err != nil {
		return c, err
	}
	err = x.pool.QueryRow(ctx, cancel, taskID, by, result, CancelChannel, submittedBefore).
		Scan(&c.Running, &c.By, &c.Queue, nil)
	if errors.Is(err, pgx.ErrNoRows) {
		_, err := x.State(ctx, taskID) // which may not be
		return c, err
	}
	if err != nil {
		return c, fmt.Errorf("cannot cancel task %s: %w", taskID, err)
	}
	c.Open = true
	return c, nil
}

// Requesters returns the requesters of the cancellations, by task; other tasks are left out.
func (x *Index) Requesters(ctx context.Context, tasks []string) (map[string]string, error) {
	by := map[string]string{}
	rows, err := x.pool.Query(
		ctx, `SELECT id, cancel FROM settle_fleet.unit WHERE id = ANY($1) AND cancel IS NOT NULL`, tasks,
	)
	if err == nil {
		var taskID, requester string
		_, err = pgx.ForEachRow(rows, []any{&taskID, &requester}, func() error { by[taskID] = requester; return nil })
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read which tasks were cancelled: %w", err)
	}
	return by, nil
}

// statusColumns are the columns of a [fleet.TaskStatus], in the order of [statusFields].
const statusColumns = `id, task, CASE outcome WHEN 'held' THEN 'held' ELSE state END, attempt, lost,
	coalesce(worker, ''), coalesce(cancel, ''), task -> 'verdicts', result, created, started, ended`

func statusFields(u *fleet.TaskStatus) []any {
	return []any{
		&u.ID, &u.Task, &u.State, &u.Attempt, &u.Lost, &u.Worker, &u.Cancel, &u.Verdicts, &u.Result,
		&u.Created, &u.Started, &u.Ended,
	}
}

// State returns a task. One that is not known is a [*fleet.UnknownError].
func (x *Index) State(ctx context.Context, taskID string) (u fleet.TaskStatus, err error) {
	err = x.pool.QueryRow(ctx, `SELECT `+statusColumns+` FROM settle_fleet.unit WHERE id = $1`, taskID).
		Scan(statusFields(&u)...)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fleet.TaskStatus{}, &fleet.UnknownError{TaskID: taskID}
	case err != nil:
		return fleet.TaskStatus{}, fmt.Errorf("cannot find task %s: %w", taskID, err)
	}
	return u, nil
}

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
	// deadlock is a code of Postgres: nothing was done, since others have locked sessions
	// in another order, such as with an append to several logs.
	deadlock = "40P01"
	// acceptTries is how often tasks are stored then, each time after acceptDelay, so that the one
	// that was in the way goes on.
	acceptTries = 10
	acceptDelay = 50 * time.Millisecond
)

// insert stores tasks. Their places are in the order of the tasks, but rows are made, and
// locked, in the order of their ids: two submissions of the same tasks wait for each other
// only in one direction.
//
// Of a session that is there, nothing changes: it waits for whoever deletes it, such
// as settle-fleet prune, and then makes it anew.
const insert = `
WITH s AS (
	INSERT INTO settle_fleet.session (id) SELECT DISTINCT unnest($2::text[]) AS id ORDER BY id
	ON CONFLICT (id) DO UPDATE SET updated = session.updated
), t AS (
	INSERT INTO settle_fleet.tenant (name) SELECT DISTINCT unnest($5::text[]) AS name ORDER BY name
	ON CONFLICT (name) DO NOTHING
)
INSERT INTO settle_fleet.unit (id, session, input, task, tenant, queue, outbox, place) OVERRIDING SYSTEM VALUE
SELECT id, session, input, task::jsonb, tenant, $6, now() + $7::interval, place FROM (
	SELECT t.*, nextval('settle_fleet.unit_place_seq') AS place FROM (
		SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
		WITH ORDINALITY AS t (id, session, input, task, tenant, n) ORDER BY n
	) t
) t ORDER BY id
ON CONFLICT (id) DO NOTHING RETURNING id`

// Accept stores tasks that are complete, all or none, and returns the ids of those that were
// not known. They are for workers of the task queue, and in the outbox: the caller has
// [SendDelay] to send them before others do.
func (x *Index) Accept(ctx context.Context, queue string, tasks []fleet.Task) (fresh []string, err error) {
	n := len(tasks)
	ids, sessions, inputs := make([]string, n), make([]string, n), make([]string, n)
	raw, tenants := make([]string, n), make([]string, n)
	for i, t := range tasks {
		text, err := json.Marshal(t)
		if err != nil {
			return nil, fmt.Errorf("cannot encode task %s: %w", t.ID(), err)
		}
		ids[i], sessions[i], inputs[i] = t.ID(), t.Session, t.Input
		raw[i], tenants[i] = string(text), cmp.Or(t.Tenant, fleet.DefaultTenant)
	}
	for try := 1; ; try++ {
		var rows pgx.Rows
		if rows, err = x.pool.Query(ctx, insert, ids, sessions, inputs, raw, tenants, queue, SendDelay); err == nil {
			fresh, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		refused := (*pgconn.PgError)(nil)
		if !errors.As(err, &refused) || refused.Code != deadlock || try == acceptTries {
			break
		}
		select {
		case <-time.After(acceptDelay):
		case <-ctx.Done():
			return nil, fmt.Errorf("cannot submit %d tasks: %w", n, context.Cause(ctx))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot submit %d tasks: %w", n, err)
	}
	return fresh, nil
}

// CancelChannel is notified of units that were cancelled while a worker runs them: the unit's
// id, a space, and the requester.
const CancelChannel = "settle_fleet_cancel"

// Cancellation is what became of a request for the end of a unit.
type Cancellation struct {
	// Open says that the unit had not ended, and Running that a worker has it.
	Open, Running bool
	// By is the requester that counts: the first one.
	By string
	// Queue is the task queue of the unit.
	Queue string
}

// cancelUnit notes a request of $2 for the end of units. Those that no worker has had end at once,
// with the result $3; those that wait for a person end with what they have.
const cancelUnit = `cancel = coalesce(cancel, $2),
		state = CASE WHEN state = 'queued' AND attempt = 0 THEN 'ended' ELSE state END,
		task = CASE WHEN outcome = 'held' THEN ` + expireHeld + ` ELSE task END,
		result = CASE WHEN outcome = 'held' THEN ` + cancelHeld + `
			WHEN state = 'queued' AND attempt = 0 THEN $3::jsonb END,
		ended = CASE WHEN outcome = 'held' OR state = 'queued' AND attempt = 0 THEN now() END`

// cancelHeld is the result of a held unit that $2 cancels.
const cancelHeld = `(result - 'held') || jsonb_build_object('outcome', 'aborted', 'reason', 'interrupted',
	'message', 'cancelled by ' || $2 || ' while a call waited for a person')`

// expireHeld is the task of a held unit that $2 cancels: the verdicts that it waits for are expired, so that a late
// verdict finds the reason.
const expireHeld = `jsonb_set(task, '{verdicts}', coalesce(task -> 'verdicts', '[]') || coalesce((
	SELECT jsonb_agg(jsonb_build_object('call', h -> 'id', 'verdict', 'expired', 'by', $2::text, 'at', now()))
	FROM jsonb_array_elements(result -> 'held') h
	WHERE NOT coalesce(task -> 'verdicts', '[]') @> jsonb_build_array(jsonb_build_object('call', h -> 'id'))), '[]'))`

// cancelled is the result of a unit that was cancelled before a worker took it.
func cancelled(by string) (string, error) {
	result, err := json.Marshal(fleet.Result{
		Outcome: event.Aborted,
		Reason:  event.Interrupted,
		Message: "cancelled by " + by + " before a worker took it",
	})
	return string(result), err
}

// cancel notes a requester, and notifies the worker of the unit when that is committed.
const cancel = `
WITH c AS (
	UPDATE settle_fleet.unit SET ` + cancelUnit + `,
		outbox = CASE WHEN state = 'queued' AND attempt = 0 THEN NULL ELSE outbox END
	WHERE id = $1 AND (state <> 'ended' OR outcome = 'held') RETURNING state = 'running' AS running, cancel, queue
)
SELECT running, cancel, queue, CASE WHEN running THEN pg_notify($4, $1 || ' ' || left(cancel, 1000))::text END
FROM c`

// Cancel notes the request for the end of a unit. A unit that no worker has had ends at once; the
// worker of one that runs is notified. Of one that was given back, a worker says how far it came.
func (x *Index) Cancel(ctx context.Context, unit, by string) (c Cancellation, err error) {
	result, err := cancelled(by)
	if err != nil {
		return c, err
	}
	err = x.pool.QueryRow(ctx, cancel, unit, by, result, CancelChannel).
		Scan(&c.Running, &c.By, &c.Queue, nil)
	if errors.Is(err, pgx.ErrNoRows) {
		_, err := x.State(ctx, unit) // which may not be
		return c, err
	}
	if err != nil {
		return c, fmt.Errorf("cannot cancel task %s: %w", unit, err)
	}
	c.Open = true
	return c, nil
}

// Cancelled returns who asked for the end of the units, of those that were cancelled.
func (x *Index) Cancelled(ctx context.Context, units []string) (map[string]string, error) {
	by := map[string]string{}
	rows, err := x.pool.Query(
		ctx, `SELECT id, cancel FROM settle_fleet.unit WHERE id = ANY($1) AND cancel IS NOT NULL`, units,
	)
	if err == nil {
		var unit, requester string
		_, err = pgx.ForEachRow(rows, []any{&unit, &requester}, func() error { by[unit] = requester; return nil })
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read which tasks were cancelled: %w", err)
	}
	return by, nil
}

// unitColumns are those of [scanUnit].
const unitColumns = `id, task, CASE outcome WHEN 'held' THEN 'held' ELSE state END, attempt, lost,
	coalesce(worker, ''), coalesce(cancel, ''), task -> 'verdicts', result, created, started, ended`

func unitFields(u *fleet.Unit) []any {
	return []any{
		&u.ID, &u.Task, &u.State, &u.Attempt, &u.Lost, &u.Worker, &u.Cancel, &u.Verdicts, &u.Result,
		&u.Created, &u.Started, &u.Ended,
	}
}

// State returns a unit. One that is not known is a [*fleet.UnknownError].
func (x *Index) State(ctx context.Context, unit string) (u fleet.Unit, err error) {
	err = x.pool.QueryRow(ctx, `SELECT `+unitColumns+` FROM settle_fleet.unit WHERE id = $1`, unit).
		Scan(unitFields(&u)...)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fleet.Unit{}, &fleet.UnknownError{Unit: unit}
	case err != nil:
		return fleet.Unit{}, fmt.Errorf("cannot find task %s: %w", unit, err)
	}
	return u, nil
}

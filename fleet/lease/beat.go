package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settle-agent/settle/fleet"
)

// ClaimLock is held by the transaction that hands units out, so that the next one
// sees what it has handed out: shares and slots of tenants are exact.
const ClaimLock = 0x5e771f

// claim gives a worker units.
//
// A unit may be taken if nobody has it, or if who has it is not alive any more, or
// does not move. What is found locked and then changed is judged anew. A worker that
// has just joined may not be seen: that one is no dead one.
//
// The units of dead workers come first, and a worker takes some of them when it has
// no room: what is open in their logs is to be settled soon.
//
// Then come those that wait, as [Fair] chooses.
const claim = `
WITH l AS (
	SELECT u.id, u.session FROM settle_fleet.unit u
	JOIN settle_fleet.session s ON s.id = u.session
	JOIN settle_fleet.worker w ON w.id = u.worker
	WHERE u.state = 'running' AND (w.until < now() OR greatest(s.updated, u.taken) < now() - $4::interval)
	ORDER BY u.place LIMIT $2::int + $3::int
	FOR UPDATE OF u SKIP LOCKED
), %s, c AS (
	SELECT id, session, 1 AS lost FROM l UNION ALL SELECT id, session, 0 FROM q
), s AS (
	UPDATE settle_fleet.session SET epoch = epoch + 1, updated = now() FROM c WHERE session.id = c.session RETURNING session.id, session.epoch
)
UPDATE settle_fleet.unit u SET state = 'running', worker = $1, attempt = u.attempt + 1, lost = u.lost + c.lost, epoch = s.epoch,
	taken = now(), started = coalesce(u.started, now())
FROM c, s WHERE u.id = c.id AND s.id = u.session
RETURNING u.id, u.attempt, u.lost, c.lost > 0, u.epoch, coalesce(u.cancel, '')`

// renew renews a worker's lease. Neither that nor a claim waits for the disk: whoever
// acts on it has it stored by the next durable append, and what a crash of the
// database takes back, the worker is refused.
const renew = `
INSERT INTO settle_fleet.worker (id, until) SELECT $1, now() + $2 FROM set_config('synchronous_commit', 'off', true)
ON CONFLICT (id) DO UPDATE SET until = excluded.until`

// Heartbeat implements [fleet.Engine].
func (e *Engine) Heartbeat(ctx context.Context, b fleet.Beat) (fleet.Orders, error) {
	orders := fleet.Orders{Holds: map[string]int64{}, Cancel: map[string]string{}}
	batch := &pgx.Batch{}
	batch.Queue(renew, b.Worker, b.Lease)
	if b.Room+b.Rescue > 0 {
		batch.Queue(`SELECT pg_advisory_xact_lock($1)`, ClaimLock)
		batch.Queue(fmt.Sprintf(claim, Fair("true", "r.state = 'running'")), b.Worker, b.Room, b.Rescue, cmp.Or(e.Stall, defaultStall)).
			Query(func(rows pgx.Rows) (err error) {
				orders.Begin, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (a fleet.Attempt, err error) {
					err = row.Scan(&a.Unit, &a.Number, &a.Lost, &a.Rescued, &a.Epoch, &a.Cancel)
					return a, err
				})
				return err
			})
	}
	batch.Queue(`SELECT id, epoch, coalesce(cancel, '') FROM settle_fleet.unit WHERE state = 'running' AND worker = $1`, b.Worker).
		Query(func(rows pgx.Rows) error {
			var id, by string
			var epoch int64
			_, err := pgx.ForEachRow(rows, []any{&id, &epoch, &by}, func() error {
				if orders.Holds[id] = epoch; by != "" {
					orders.Cancel[id] = by
				}
				return nil
			})
			return err
		})
	// Its statements are one transaction.
	if err := e.pool.SendBatch(ctx, batch).Close(); err != nil {
		return fleet.Orders{}, fmt.Errorf("cannot renew the lease: %w", err)
	}
	if err := e.tasks(ctx, orders.Begin); err != nil {
		return fleet.Orders{}, fmt.Errorf("cannot read the tasks of the worker's units: %w", err)
	}
	return orders, nil
}

// tasks reads what attempts are to do: outside of the transaction that holds the
// lock, since the database may have to wait until the worker has read it.
func (e *Engine) tasks(ctx context.Context, attempts []fleet.Attempt) error {
	if len(attempts) == 0 {
		return nil
	}
	at, ids := map[string]int{}, make([]string, len(attempts))
	for n, a := range attempts {
		at[a.Unit], ids[n] = n, a.Unit
	}
	rows, err := e.pool.Query(
		ctx,
		`SELECT id, task, extract(epoch FROM taken - created)::float8 FROM settle_fleet.unit WHERE id = ANY ($1)`,
		ids,
	)
	if err != nil {
		return err
	}
	found := 0
	for rows.Next() {
		var id string
		var task fleet.Task
		var age float64
		if err := rows.Scan(&id, &task, &age); err != nil {
			rows.Close()
			return err
		}
		attempts[at[id]].Task, attempts[at[id]].Age = task, time.Duration(age*float64(time.Second))
		found++
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if found < len(attempts) {
		return errors.New("some have been deleted")
	}
	return nil
}

// Leave ends the lease of a worker that has nothing left to do.
func (e *Engine) Leave(ctx context.Context, worker string) error {
	_, err := e.pool.Exec(ctx, `DELETE FROM settle_fleet.worker w WHERE (id = $1 OR until < now() - $2::interval)
		AND NOT EXISTS (SELECT FROM settle_fleet.unit u WHERE u.worker = w.id AND u.state = 'running')`, worker, forgetAfter)
	if err != nil {
		return fmt.Errorf("cannot leave the fleet: %w", err)
	}
	return nil
}

// forgetAfter is when a worker that died is not remembered any more.
const forgetAfter = 24 * time.Hour

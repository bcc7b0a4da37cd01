package lease

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settle-agent/settle/fleet"
)

// beat renews the worker's lease, gives it units, and returns all that it holds.
//
// A unit may be taken if nobody has it, or if who has it is not alive any more, or
// does not move. Two workers that look at the same time do not wait for each other;
// what one of them finds locked and then changed is judged anew. It may not see a
// worker that has just joined: that one is no dead one.
//
// The units of dead workers come first, and a worker takes some of them when it has
// no room: what is open in their logs is to be settled soon.
const claim = `
WITH l AS (
	SELECT u.id, u.session FROM settle_fleet.unit u
	JOIN settle_fleet.session s ON s.id = u.session
	JOIN settle_fleet.worker w ON w.id = u.worker
	WHERE u.state = 'running' AND (w.until < now() OR greatest(s.updated, u.taken) < now() - $4::interval)
	ORDER BY u.place LIMIT $2::int + $3::int
	FOR UPDATE OF u SKIP LOCKED
), q AS (
	SELECT u.id, u.session FROM settle_fleet.unit u
	WHERE u.state = 'queued'
	AND NOT EXISTS (SELECT FROM settle_fleet.unit b WHERE b.session = u.session AND b.state <> 'ended' AND b.place < u.place)
	ORDER BY u.place LIMIT greatest(0, $2::int - (SELECT count(*) FROM l))
	FOR UPDATE OF u SKIP LOCKED
), c AS (
	SELECT id, session, 1 AS lost FROM l UNION ALL SELECT id, session, 0 FROM q
), s AS (
	UPDATE settle_fleet.session SET epoch = epoch + 1, updated = now() FROM c WHERE session.id = c.session RETURNING session.id, session.epoch
)
UPDATE settle_fleet.unit u SET state = 'running', worker = $1, attempt = u.attempt + 1, lost = u.lost + c.lost, epoch = s.epoch,
	taken = now(), started = coalesce(u.started, now())
FROM c, s WHERE u.id = c.id AND s.id = u.session
RETURNING u.id, u.task, u.attempt, u.lost, u.epoch, coalesce(u.cancel, '')`

// Heartbeat implements [fleet.Engine].
func (e *Engine) Heartbeat(ctx context.Context, b fleet.Beat) (fleet.Orders, error) {
	orders := fleet.Orders{Holds: map[string]int64{}, Cancel: map[string]string{}}
	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO settle_fleet.worker (id, until) VALUES ($1, now() + $2) ON CONFLICT (id) DO UPDATE SET until = excluded.until`, b.Worker, b.Lease)
	if b.Room+b.Rescue > 0 {
		batch.Queue(claim, b.Worker, b.Room, b.Rescue, cmp.Or(e.Stall, defaultStall)).Query(func(rows pgx.Rows) (err error) {
			orders.Begin, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (a fleet.Attempt, err error) {
				err = row.Scan(&a.Unit, &a.Task, &a.Number, &a.Lost, &a.Epoch, &a.Cancel)
				return a, err
			})
			return err
		})
	}
	batch.Queue(`SELECT id, epoch, coalesce(cancel, '') FROM settle_fleet.unit WHERE state = 'running' AND worker = $1`, b.Worker).Query(func(rows pgx.Rows) error {
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
	return orders, nil
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

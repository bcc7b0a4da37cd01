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
const claim = `
WITH c AS (
	SELECT u.id, u.session, u.state = 'running' AS lost FROM settle_fleet.unit u
	WHERE u.id IN (
		(SELECT r.id FROM settle_fleet.unit r
			JOIN settle_fleet.session s ON s.id = r.session
			JOIN settle_fleet.worker w ON w.id = r.worker
			WHERE r.state = 'running' AND (w.until < now() OR greatest(s.updated, r.taken) < now() - $3::interval)
			LIMIT $2)
		UNION ALL
		(SELECT q.id FROM settle_fleet.unit q
			WHERE q.state = 'queued'
			AND NOT EXISTS (SELECT FROM settle_fleet.unit b WHERE b.session = q.session AND b.state <> 'ended' AND b.place < q.place)
			ORDER BY q.place LIMIT $2 + $4)
	)
	AND (u.state = 'queued'
		OR u.state = 'running' AND EXISTS (SELECT FROM settle_fleet.worker w, settle_fleet.session s WHERE w.id = u.worker AND s.id = u.session
			AND (w.until < now() OR greatest(s.updated, u.taken) < now() - $3::interval)))
	LIMIT $2
	FOR UPDATE OF u SKIP LOCKED
), s AS (
	UPDATE settle_fleet.session SET epoch = epoch + 1, updated = now() FROM c WHERE session.id = c.session RETURNING session.id, session.epoch
)
UPDATE settle_fleet.unit u SET state = 'running', worker = $1, attempt = u.attempt + 1, lost = u.lost + c.lost::int, epoch = s.epoch,
	taken = now(), started = coalesce(u.started, now())
FROM c, s WHERE u.id = c.id AND s.id = u.session
RETURNING u.id, u.task, u.attempt, u.lost, u.epoch, coalesce(u.cancel, '')`

// ahead is how many queued units a claim looks at beyond those that it can take:
// others may just be taking the first ones.
const ahead = 64

// Heartbeat implements [fleet.Engine].
func (e *Engine) Heartbeat(ctx context.Context, b fleet.Beat) (fleet.Orders, error) {
	orders := fleet.Orders{Holds: map[string]int64{}, Cancel: map[string]string{}}
	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO settle_fleet.worker (id, until) VALUES ($1, now() + $2) ON CONFLICT (id) DO UPDATE SET until = excluded.until`, b.Worker, b.Lease)
	if b.Room > 0 {
		batch.Queue(claim, b.Worker, b.Room, cmp.Or(e.Stall, defaultStall), ahead).Query(func(rows pgx.Rows) (err error) {
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

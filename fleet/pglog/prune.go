package pglog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// PrunedDay is the result of [Prune] for the sessions that began on one day.
type PrunedDay struct {
	Day      time.Time
	Sessions int64
	// Kept says that they were kept, because some of them had something to do
	// since the cutoff.
	Kept bool
	// Held is the number of tasks of these sessions that wait for a person, and keep the day.
	Held int64
}

// Prune drops the logs, tasks and results of the sessions that began on a day
// before the cutoff, day by day, where none of them has done anything since then.
func Prune(ctx context.Context, pool *pgxpool.Pool, cutoff time.Time) (out []PrunedDay, err error) {
	rows, err := pool.Query(
		ctx,
		`SELECT DISTINCT born FROM settle_fleet.session WHERE born < $1::date ORDER BY born`,
		cutoff,
	)
	if err != nil {
		return nil, fmt.Errorf("cannot find what is old: %w", err)
	}
	days, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil {
		return nil, fmt.Errorf("cannot find what is old: %w", err)
	}
	for _, day := range days {
		p, err := pruneDay(ctx, pool, day, cutoff)
		if err != nil {
			return out, fmt.Errorf("cannot drop the sessions of %s: %w", day.Format(time.DateOnly), err)
		}
		out = append(out, p)
	}
	return out, nil
}

func pruneDay(ctx context.Context, pool *pgxpool.Pool, day, cutoff time.Time) (p PrunedDay, err error) {
	err = withLockRetries(ctx, pool, 0, func(tx pgx.Tx) error {
		p = PrunedDay{Day: day}
		// No worker can start a turn in them during this.
		if _, err := tx.Exec(ctx, `SELECT FROM settle_fleet.session WHERE born = $1 FOR UPDATE`, day); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `SELECT count(*), count(*) FILTER (WHERE updated >= $2) > 0
			OR EXISTS (SELECT FROM settle_fleet.unit u JOIN settle_fleet.session s ON s.id = u.session
				WHERE s.born = $1 AND (u.state <> 'ended' OR u.outcome = 'held'))
			FROM settle_fleet.session WHERE born = $1`, day, cutoff).Scan(&p.Sessions, &p.Kept)
		if err == nil && p.Kept {
			err = tx.QueryRow(ctx, `SELECT count(*) FROM settle_fleet.unit u JOIN settle_fleet.session s ON s.id = u.session
				WHERE s.born = $1 AND u.outcome = 'held'`, day).
				Scan(&p.Held)
		}
		if err != nil || p.Kept {
			return err
		}
		for _, sql := range []string{
			`DELETE FROM settle_fleet.spend p USING settle_fleet.unit u, settle_fleet.session s WHERE p.unit = u.id AND s.id = u.session AND s.born = $1`,
			`DELETE FROM settle_fleet.unit u USING settle_fleet.session s WHERE s.id = u.session AND s.born = $1`,
			`DELETE FROM settle_fleet.session WHERE born = $1`,
		} {
			if _, err := tx.Exec(ctx, sql, day); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `DROP TABLE IF EXISTS `+partition(day))
		return err
	})
	return p, err
}

const (
	// lockTimeout bounds the time for which appends can queue behind a change of the tables, which
	// itself queues behind a long reader.
	lockTimeout = time.Second
	// maxLockDelay is the maximum wait before the next attempt, and maxLockTries the maximum number of attempts.
	maxLockDelay = 5 * time.Second
	maxLockTries = 20
)

// withLockRetries runs a transaction that locks tables which other programs use. If the transaction waits for a lock
// for longer than lockTimeout, or is in a deadlock, withLockRetries repeats it later. Before f, each transaction takes
// the advisory lock, unless that is 0. It waits for the advisory lock without a bound: nothing else waits meanwhile.
func withLockRetries(ctx context.Context, pool *pgxpool.Pool, advisory int64, f func(pgx.Tx) error) error {
	delay := 100 * time.Millisecond
	for n := 1; ; n++ {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if advisory != 0 {
				if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, advisory); err != nil {
					return err
				}
			}
			if _, err := tx.Exec(
				ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", lockTimeout.Milliseconds()),
			); err != nil {
				return err
			}
			return f(tx)
		})
		var pgErr *pgconn.PgError
		if n == maxLockTries || !errors.As(err, &pgErr) ||
			pgErr.Code != lockNotAvailable && pgErr.Code != deadlockDetected {
			return err
		}
		select {
		case <-time.After(delay):
			delay = min(2*delay, maxLockDelay)
		case <-ctx.Done():
			return err
		}
	}
}

// Codes of Postgres (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const (
	lockNotAvailable = "55P03"
	deadlockDetected = "40P01"
)

package budget

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle/event"
)

const (
	// reportTimeout bounds a report, and retryDelay is the wait after a failed
	// report.
	reportTimeout, retryDelay = 10 * time.Second, 200 * time.Millisecond
)

// Meter counts the usage of the tasks of one worker. Its methods may be called by several
// goroutines.
type Meter struct {
	pool *pgxpool.Pool
	kick chan struct{} // holds one token when there is something to report
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	tasks   map[string]report // reports to send, by task
	budgets map[string]Budget // as they were at the last report, by batch
}

// report is the usage of a task so far.
type report struct {
	batch string
	sum   event.Summary
}

// Open returns a meter. The caller closes it, before the pool.
func Open(ctx context.Context, pool *pgxpool.Pool) *Meter {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	m := &Meter{
		pool:    pool,
		kick:    make(chan struct{}, 1),
		stop:    stop,
		done:    make(chan struct{}),
		tasks:   map[string]report{},
		budgets: map[string]Budget{},
	}
	// Close waits for it.
	go func() {
		defer close(m.done)
		m.run(life)
	}()
	return m
}

// Close ends the meter. Tasks that continue on other workers are reported again from their
// logs.
func (m *Meter) Close() {
	m.stop()
	<-m.done
}

// Record records the usage of a task so far. It does not wait. It returns the cause with
// which the task's turn must end, by the known state of its batch; nil if it can continue.
func (m *Meter) Record(batch, taskID string, sum event.Summary) *event.Cause {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tasks[taskID] = report{batch, sum}
	select {
	case m.kick <- struct{}{}:
	default:
	}
	return m.budgets[batch].EndCause()
}

// Store is Record that waits until the usage of the task is in the database.
func (m *Meter) Store(ctx context.Context, batch, taskID string, sum event.Summary) (*event.Cause, error) {
	m.mu.Lock()
	delete(m.tasks, taskID) // an earlier report has no more usage
	m.mu.Unlock()
	if err := m.report(ctx, map[string]report{taskID: {batch, sum}}); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.budgets[batch].EndCause(), nil
}

// run reports the usage of tasks until ctx ends.
func (m *Meter) run(ctx context.Context) {
	for {
		select {
		case <-m.kick:
		case <-ctx.Done():
			return
		}
		m.mu.Lock()
		tasks := m.tasks
		m.tasks = map[string]report{}
		m.mu.Unlock()
		if err := m.report(ctx, tasks); err != nil {
			m.requeue(tasks)
			select {
			case <-time.After(retryDelay):
			case <-ctx.Done():
			}
		}
	}
}

// requeue records failed reports, unless there is a newer report.
func (m *Meter) requeue(tasks map[string]report) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for taskID, r := range tasks {
		if _, hasNewer := m.tasks[taskID]; !hasNewer {
			m.tasks[taskID] = r
		}
	}
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// lock holds the batches, in order: the next statement sees what others have stored.
const lock = `SELECT FROM settle_fleet.budget WHERE batch = ANY ($1) ORDER BY batch FOR UPDATE`

// spend stores the usage of tasks, adds the increase to their batches, and
// returns the budgets of these.
const spend = `
WITH r AS (
	SELECT r.* FROM unnest($1::text[], $2::text[], $3::bigint[], $4::float8[], $5::int[]) AS r (unit, batch, tokens, usd, unpriced)
), before AS (
	SELECT s.* FROM settle_fleet.spend s JOIN r USING (unit)
), stored AS (
	INSERT INTO settle_fleet.spend AS s (unit, batch, tokens, usd, unpriced) SELECT r.* FROM r WHERE batch IN (SELECT batch FROM settle_fleet.budget)
	ON CONFLICT (unit) DO UPDATE SET tokens = greatest(s.tokens, excluded.tokens), usd = greatest(s.usd, excluded.usd), unpriced = greatest(s.unpriced, excluded.unpriced)
	RETURNING s.*
), fresh AS (
	SELECT s.batch, sum(s.tokens - coalesce(before.tokens, 0)) AS tokens, sum(s.usd - coalesce(before.usd, 0)) AS usd, sum(s.unpriced - coalesce(before.unpriced, 0)) AS unpriced
	FROM stored s LEFT JOIN before USING (unit) GROUP BY s.batch
)
UPDATE settle_fleet.budget g SET spent_tokens = g.spent_tokens + fresh.tokens, spent_usd = g.spent_usd + fresh.usd, unpriced = g.unpriced + fresh.unpriced
FROM fresh WHERE g.batch = fresh.batch RETURNING g.batch, g.tokens, g.usd, g.spent_tokens, g.spent_usd, g.unpriced`

// report stores the usage of tasks, and updates the budgets of their batches.
func (m *Meter) report(ctx context.Context, tasks map[string]report) error {
	if len(tasks) == 0 {
		return nil
	}
	var ids, batches []string
	var tokens []int64
	var usd []float64
	var unpriced []int32
	for taskID, r := range tasks {
		ids, batches, tokens = append(ids, taskID), append(batches, r.batch), append(tokens, r.sum.Usage.Total())
		usd, unpriced = append(usd, r.sum.Cost), append(
			unpriced, int32(r.sum.Unpriced),
		) // requests of a task
	}
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	batch := &pgx.Batch{} // one transaction
	batch.Queue(lock, batches)
	batch.Queue(spend, ids, batches, tokens, usd, unpriced).Query(func(rows pgx.Rows) error {
		budgets, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Budget])
		m.update(budgets)
		return err
	})
	if err := m.pool.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("cannot count what the tasks of a batch have taken: %w", err)
	}
	return nil
}

// update sets the known budgets.
func (m *Meter) update(budgets []Budget) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range budgets {
		m.budgets[b.Batch] = b
	}
}

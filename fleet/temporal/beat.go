package temporal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/lease"
)

const (
	// workerPrefix keeps the workers of this engine apart from those of the lease, by
	// which the other engine finds units of dead workers.
	workerPrefix = "temporal:"
	// beatsInSilence is how many heartbeats an activity has before it is silent.
	beatsInSilence = 3
)

// claim takes units for a worker that Temporal has sent it: those that wait, of each
// session the first one, and those of a worker that Temporal has waited for in vain.
// Units of the other engine's workers are left to it.
const claim = `
WITH c AS (
	SELECT u.id, u.session, u.state FROM settle_fleet.unit u
	WHERE u.id = ANY($2) AND (u.state = 'queued' OR u.state = 'running' AND NOT EXISTS (SELECT FROM settle_fleet.worker w WHERE w.id = u.worker))
	AND NOT EXISTS (SELECT FROM settle_fleet.unit b WHERE b.session = u.session AND b.state <> 'ended' AND b.id <> u.id
		AND (b.state = 'running' OR u.state = 'queued' AND b.place < u.place))
	FOR UPDATE OF u
), s AS (
	UPDATE settle_fleet.session SET epoch = epoch + 1, updated = now() FROM c WHERE session.id = c.session RETURNING session.id, session.epoch
)
UPDATE settle_fleet.unit u SET state = 'running', worker = $1, attempt = u.attempt + 1, lost = u.lost + (c.state = 'running')::int, epoch = s.epoch,
	taken = now(), started = coalesce(u.started, now())
FROM c, s WHERE u.id = c.id AND s.id = u.session
RETURNING u.id, u.task, u.attempt, u.lost, u.epoch, coalesce(u.cancel, ''), c.state = 'running', extract(epoch FROM u.taken - u.created)::float8`

// feed chooses units that are to be started: so many that there is something for each
// free slot, less those that were started before and that nobody has claimed (l).
const feed = `
WITH l AS (
	SELECT u.id FROM settle_fleet.unit u WHERE u.id = ANY($1) AND u.state = 'queued'
), %s
UPDATE settle_fleet.unit u SET taken = now() FROM q WHERE u.id = q.id RETURNING u.id`

// exchange is what a heartbeat learns from the database.
type exchange struct {
	begin   []fleet.Attempt
	fed     []string
	orders  fleet.Orders
	stalled map[string]bool // units whose logs stand still
}

// Heartbeat implements [fleet.Engine].
func (e *Engine) Heartbeat(ctx context.Context, b fleet.Beat) (fleet.Orders, error) {
	m := e.member(b.Worker)
	m.beating.Lock()
	defer m.beating.Unlock()
	arrived := e.fresh(ctx, m.take())
	x, err := e.exchange(ctx, m, b, arrived)
	if err != nil {
		m.keep(arrived)
		return fleet.Orders{}, fmt.Errorf("cannot renew the lease: %w", err)
	}
	m.hold(x.begin, arrived)
	e.start(x.fed)
	e.refuse(arrived, x.begin)
	e.beat(ctx, m, x, min(e.options.Silence/beatsInSilence, b.Lease/2))
	e.sweep()
	e.poll(m, b.Room+b.Rescue-len(x.begin))
	m.mu.Lock()
	for unit, h := range m.holds {
		if h.lost {
			delete(x.orders.Holds, unit)
		}
	}
	m.mu.Unlock()
	x.orders.Begin = x.begin
	return x.orders, nil
}

// fresh leaves out what arrived so long ago that Temporal may have begun another
// attempt: this process was stopped since then.
func (e *Engine) fresh(ctx context.Context, arrived []arrival) []arrival {
	return slices.DeleteFunc(arrived, func(a arrival) bool {
		late := time.Since(a.at) > e.options.Silence/2
		if late {
			_ = e.giveBack(ctx, a.token, handOverDelay) // or there is another attempt
		}
		return late
	})
}

// exchange claims, feeds and looks what the worker holds, in one transaction.
func (e *Engine) exchange(ctx context.Context, m *member, b fleet.Beat, arrived []arrival) (*exchange, error) {
	x := &exchange{
		orders:  fleet.Orders{Holds: map[string]int64{}, Cancel: map[string]string{}},
		stalled: map[string]bool{},
	}
	batch := &pgx.Batch{}
	batch.Queue(
		`INSERT INTO settle_fleet.worker (id, until) SELECT $1, now() + $2 FROM set_config('synchronous_commit', 'off', true) ON CONFLICT (id) DO UPDATE SET until = excluded.until`,
		workerPrefix+b.Worker,
		b.Lease,
	)
	if len(arrived) > 0 {
		ids := make([]string, len(arrived))
		for n, a := range arrived {
			ids[n] = a.unit
		}
		batch.Queue(claim, b.Worker, ids).Query(func(rows pgx.Rows) (err error) {
			x.begin, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (a fleet.Attempt, err error) {
				var age float64
				err = row.Scan(&a.Unit, &a.Task, &a.Number, &a.Lost, &a.Epoch, &a.Cancel, &a.Rescued, &age)
				a.Age = time.Duration(age * float64(time.Second))
				return a, err
			})
			return err
		})
	}
	if room := b.Room - len(arrived); room > 0 {
		batch.Queue(`SELECT pg_advisory_xact_lock($1)`, lease.ClaimLock)
		batch.Queue(fmt.Sprintf(feed, lease.Fair("u.taken IS NULL", "(r.state = 'running' OR r.state = 'queued' AND r.taken IS NOT NULL)")), m.fed, room).
			Query(func(rows pgx.Rows) (err error) {
				x.fed, err = pgx.CollectRows(rows, pgx.RowTo[string])
				return err
			})
	}
	batch.Queue(`SELECT u.id, u.epoch, coalesce(u.cancel, ''), greatest(s.updated, u.taken) < now() - $2::interval FROM settle_fleet.unit u
		JOIN settle_fleet.session s ON s.id = u.session WHERE u.state = 'running' AND u.worker = $1`, b.Worker, e.options.Stall).
		Query(func(rows pgx.Rows) error {
			var id, by string
			var epoch int64
			var stalled bool
			_, err := pgx.ForEachRow(rows, []any{&id, &epoch, &by, &stalled}, func() error {
				if x.orders.Holds[id] = epoch; by != "" {
					x.orders.Cancel[id] = by
				}
				x.stalled[id] = stalled
				return nil
			})
			return err
		})
	if len(m.fed) > 0 {
		batch.Queue(`SELECT id FROM settle_fleet.unit WHERE id = ANY($1) AND state = 'queued'`, m.fed).
			Query(func(rows pgx.Rows) (err error) {
				m.fed, err = pgx.CollectRows(rows, pgx.RowTo[string])
				return err
			})
	}
	err := e.pool.SendBatch(ctx, batch).Close() // its statements are one transaction
	if err == nil {
		m.fed = append(m.fed, x.fed...)
	}
	return x, err
}

// hold notes the attempts that the worker has been given.
func (m *member) hold(begin []fleet.Attempt, arrived []arrival) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range begin {
		for _, t := range arrived {
			if t.unit == a.Unit { // the last one, if there are two
				m.holds[a.Unit] = &hold{attempt: a, token: t.token, beat: t.at}
			}
		}
	}
}

// start starts the activities of units. One that is there already is that one.
func (e *Engine) start(units []string) {
	e.parallel(units, func(ctx context.Context, unit string) {
		_, err := e.client.ExecuteActivity(ctx, client.StartActivityOptions{
			ID: e.activity(
				unit,
			),
			TaskQueue:           e.options.Queue,
			HeartbeatTimeout:    e.options.Silence,
			StartToCloseTimeout: maxTime,
			RetryPolicy:         retries(),
			// Whether the unit has been is Postgres' to say, which knows longer.
			ActivityIDReusePolicy:    enumspb.ACTIVITY_ID_REUSE_POLICY_ALLOW_DUPLICATE,
			ActivityIDConflictPolicy: enumspb.ACTIVITY_ID_CONFLICT_POLICY_USE_EXISTING,
		}, activityType, unit)
		if err == nil || e.life.Err() != nil {
			return
		}
		e.logger.Warn("cannot start an activity; it is tried again", "unit", unit, "error", err)
		again, cancel := context.WithTimeout(e.life, callTimeout)
		defer cancel()
		_, _ = e.pool.Exec(
			again,
			`UPDATE settle_fleet.unit SET taken = NULL WHERE id = $1 AND state = 'queued'`,
			unit,
		) // or it is swept
	})
}

// parallel calls Temporal for each unit, some at a time, without waiting for it.
func (e *Engine) parallel(units []string, call func(context.Context, string)) {
	next := make(chan string, len(units))
	for _, unit := range units {
		next <- unit // has room
	}
	close(next)
	for range min(len(units), maxCalls) {
		e.running.Go(func() { // ends with the units; a call is bounded
			for unit := range next {
				ctx, cancel := context.WithTimeout(e.life, callTimeout)
				call(ctx, unit)
				cancel()
			}
		})
	}
}

// refuse answers what was not claimed: the unit has ended, or is another engine's.
func (e *Engine) refuse(arrived []arrival, begin []fleet.Attempt) {
	tokens := map[string][]byte{}
	var units []string
	for _, t := range arrived {
		if !slices.ContainsFunc(begin, func(a fleet.Attempt) bool { return a.Unit == t.unit }) {
			tokens[t.unit], units = t.token, append(units, t.unit)
		}
	}
	e.parallel(units, func(ctx context.Context, unit string) {
		u, err := e.Table.State(ctx, unit)
		switch {
		case errors.As(err, new(*fleet.UnknownError)):
			u.Result = &fleet.Result{Outcome: "unknown", Message: "there is no such unit"}
		case err != nil || u.State != fleet.Ended:
			_ = e.giveBack(ctx, tokens[unit], refusalDelay) // else its silence ends it
			return
		}
		if err := e.answer(
			ctx, &hold{attempt: fleet.Attempt{Unit: unit, Cancel: u.Cancel}, token: tokens[unit]}, u.Result,
		); err != nil &&
			!missing(err) {
			e.logger.Warn("cannot tell Temporal how an attempt has ended", "unit", unit, "error", err)
		}
	})
}

// beat sends the heartbeats that are due, of units whose logs grow, and learns which
// of them somebody has ended by way of Temporal. It takes no longer than most: where
// Temporal does not answer, the worker renews its lease all the same. What could not be
// sent is sent with the next ones.
func (e *Engine) beat(ctx context.Context, m *member, x *exchange, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	now := time.Now()
	var due []*hold
	m.mu.Lock()
	for unit, h := range m.holds {
		epoch, ok := x.orders.Holds[unit]
		if !ok || epoch != h.attempt.Epoch { // another has followed
			delete(m.holds, unit)
			continue
		}
		h.attempt.Cancel = x.orders.Cancel[unit]
		if now.Sub(h.beat) >= e.options.Silence/beatsInSilence && !x.stalled[unit] && !h.closed && !h.lost {
			h.beat = now
			due = append(due, h)
		}
	}
	m.mu.Unlock()
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxCalls)
	for _, h := range due {
		slots <- struct{}{} // all calls end with ctx
		wg.Go(func() {
			defer func() { <-slots }()
			e.beatOne(ctx, m, h)
		})
	}
	wg.Wait()
}

func (e *Engine) beatOne(ctx context.Context, m *member, h *hold) {
	unit := h.attempt.Unit
	r, err := e.service.RecordActivityTaskHeartbeat(ctx, &workflowservice.RecordActivityTaskHeartbeatRequest{
		Namespace: e.options.Namespace,
		TaskToken: h.token,
		Identity:  m.id,
		Details:   payload(fmt.Appendf(nil, `{"epoch":%d}`, h.attempt.Epoch)),
	})
	switch {
	case err == nil && r.GetCancelRequested() && h.attempt.Cancel == "":
		e.cancelled(ctx, unit)
	case err == nil:
	case missing(err):
		e.explainRefusedHeartbeat(ctx, m, h)
	default:
		m.mu.Lock()
		h.beat = time.Time{}
		m.mu.Unlock()
		e.logger.Warn("cannot send a heartbeat to Temporal", "unit", unit, "error", err)
	}
}

// cancelled ends a unit that somebody has ended in Temporal.
func (e *Engine) cancelled(ctx context.Context, unit string) {
	if _, err := e.Table.Cancel(ctx, unit, "temporal"); err != nil {
		e.logger.Warn("cannot cancel a unit as in Temporal", "unit", unit, "error", err)
	}
}

// explainRefusedHeartbeat finds out why Temporal takes no more heartbeats of an attempt: it has begun
// another one, or somebody has ended the activity there, or it has forgotten it. In the
// last case the unit goes on: Postgres knows whose it is.
func (e *Engine) explainRefusedHeartbeat(ctx context.Context, m *member, h *hold) {
	d, err := e.describe(ctx, h.attempt.Unit)
	if err != nil && !missing(err) {
		return // the next heartbeat asks again
	}
	m.mu.Lock()
	h.lost = err == nil && !ended(d.Status)
	h.closed = !h.lost
	m.mu.Unlock()
	if err == nil && dismissed(d.Status) {
		e.cancelled(ctx, h.attempt.Unit)
	}
}

package lease

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
	"github.com/settle-agent/settle/fleet/pglog"
)

// defaultStall is longer than anything that a turn waits for without a word: an
// attempt of a model request may take an hour.
const defaultStall = 2 * time.Hour

// Engine is the engine. Its methods may be called by several goroutines.
type Engine struct {
	// Stall is how long a unit's log may stand still before the unit is another
	// worker's; 0 means two hours.
	Stall time.Duration

	pool     *pgxpool.Pool
	endings  *endings
	owned    bool // the pool is the engine's own
	listener *listener
	stop     context.CancelFunc
	ended    chan struct{}
}

var (
	_ fleet.Engine = (*Engine)(nil)
	_ fleet.Waker  = (*Engine)(nil)
)

// Open returns the engine over a database that was migrated. The caller closes it,
// before the pool.
func Open(ctx context.Context, pool *pgxpool.Pool) *Engine {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	e := &Engine{
		pool:     pool,
		endings:  newEndings(pool),
		listener: newListener(pool.Config().ConnConfig),
		stop:     stop,
		ended:    make(chan struct{}),
	}
	// Close waits for it.
	go func() {
		defer close(e.ended)
		e.endings.run(life)
	}()
	return e
}

// Connect returns the engine over the database that the URL leads to, such as
// postgres://user@host/name. One that was not migrated, or by another version, is a
// [*pglog.VersionError]. The context bounds the call. The caller closes the engine.
func Connect(ctx context.Context, url string) (*Engine, error) {
	pool, err := pglog.Connect(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the database: %w", err)
	}
	if err := pglog.Check(ctx, pool); err != nil {
		pool.Close()
		return nil, fmt.Errorf("cannot use the database: %w", err)
	}
	e := Open(ctx, pool)
	e.owned = true
	return e, nil
}

// Close ends what the engine runs.
func (e *Engine) Close() {
	e.stop()
	<-e.ended
	e.listener.close()
	if e.owned {
		e.pool.Close()
	}
}

// Wake implements [fleet.Waker]. It listens from the first call on.
func (e *Engine) Wake() <-chan struct{} { return e.listener.start() }

const (
	// deadlock is a code of Postgres: nothing was done, since others have locked sessions
	// in another order, such as with an append to several logs.
	deadlock = "40P01"
	// submitTries is how often tasks are submitted then. Each time, one that was in the way
	// goes on.
	submitTries = 10
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
	INSERT INTO settle_fleet.tenant (name) SELECT DISTINCT unnest($6::text[]) AS name ORDER BY name ON CONFLICT (name) DO NOTHING
), u AS (
	INSERT INTO settle_fleet.unit (id, session, input, task, tenant, place) OVERRIDING SYSTEM VALUE
	SELECT id, session, input, task::jsonb, tenant, place FROM (
		SELECT t.*, nextval('settle_fleet.unit_place_seq') AS place FROM (
			SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $6::text[]) WITH ORDINALITY AS t (id, session, input, task, tenant, n) ORDER BY n
		) t
	) t ORDER BY id
	ON CONFLICT (id) DO NOTHING RETURNING id
), told AS (SELECT pg_notify($5, ''))
SELECT (SELECT count(*) FROM u) + 0 * (SELECT count(*) FROM told)`

// Submit implements [fleet.Engine].
func (e *Engine) Submit(ctx context.Context, tasks []fleet.Task) (fresh int, err error) {
	n := len(tasks)
	ids, sessions, inputs, raw, tenants := make([]string, n), make([]string, n), make([]string, n), make(
		[]string,
		n,
	), make([]string, n)
	for i, t := range tasks {
		text, err := json.Marshal(t)
		if err != nil {
			return 0, fmt.Errorf("cannot encode task %s: %w", t.ID(), err)
		}
		ids[i], sessions[i], inputs[i], raw[i], tenants[i] = t.ID(), t.Session, t.Input, string(
			text,
		), cmp.Or(t.Tenant, fleet.DefaultTenant)
	}
	for try := 1; ; try++ {
		err = e.pool.QueryRow(ctx, insert, ids, sessions, inputs, raw, unitChannel, tenants).Scan(&fresh)
		refused := (*pgconn.PgError)(nil)
		if !errors.As(err, &refused) || refused.Code != deadlock || try == submitTries {
			break
		}
	}
	if err != nil {
		return 0, fmt.Errorf("cannot submit %d tasks: %w", n, err)
	}
	return fresh, nil
}

// Cancel implements [fleet.Engine]. A unit that no worker has had ends at once. Of one that
// was given back, a worker says how far it came.
func (e *Engine) Cancel(ctx context.Context, unit, by string) (bool, error) {
	result, err := json.Marshal(
		fleet.Result{
			Outcome: event.Aborted,
			Reason:  event.Interrupted,
			Message: "cancelled by " + by + " before a worker took it",
		},
	)
	if err != nil {
		return false, err
	}
	var state fleet.State
	err = e.pool.QueryRow(ctx, `
WITH u AS (
	UPDATE settle_fleet.unit SET cancel = coalesce(cancel, $2),
		state = CASE WHEN state = 'queued' AND attempt = 0 THEN 'ended' ELSE state END,
		result = CASE WHEN state = 'queued' AND attempt = 0 THEN $3::jsonb END,
		ended = CASE WHEN state = 'queued' AND attempt = 0 THEN now() END
	WHERE id = $1 AND state <> 'ended' RETURNING state
), told AS (SELECT pg_notify($4, '') FROM u)
SELECT state FROM u, told`, unit, by, string(result), unitChannel).Scan(&state)
	if errors.Is(err, pgx.ErrNoRows) {
		_, err := e.State(ctx, unit) // which may not be
		return false, err
	}
	if err != nil {
		return false, fmt.Errorf("cannot cancel unit %s: %w", unit, err)
	}
	return true, nil
}

// unitColumns are those of [scanUnit].
const unitColumns = `id, task, state, attempt, lost, coalesce(worker, ''), coalesce(cancel, ''), result, created, started, ended`

func scanUnit(row pgx.CollectableRow) (u fleet.Unit, err error) {
	err = row.Scan(
		&u.ID, &u.Task, &u.State, &u.Attempt, &u.Lost, &u.Worker, &u.Cancel, &u.Result, &u.Created, &u.Started,
		&u.Ended,
	)
	return u, err
}

// State implements [fleet.Engine].
func (e *Engine) State(ctx context.Context, unit string) (fleet.Unit, error) {
	rows, err := e.pool.Query(ctx, `SELECT `+unitColumns+` FROM settle_fleet.unit WHERE id = $1`, unit)
	if err == nil {
		var u fleet.Unit
		if u, err = pgx.CollectExactlyOneRow(rows, scanUnit); err == nil {
			return u, nil
		}
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return fleet.Unit{}, &fleet.UnknownError{Unit: unit}
	}
	return fleet.Unit{}, fmt.Errorf("cannot find unit %s: %w", unit, err)
}

// Filter chooses units.
type Filter struct {
	State  fleet.State       // "" for all
	Labels map[string]string // that they have
	Batch  string            // that they are of; "" for any
	// After is the place of the last unit that was seen; 0 for none.
	After int64
	Limit int
}

// List returns units in the order in which they were submitted, and the place of
// the last one.
func (e *Engine) List(ctx context.Context, f Filter) (units []fleet.Unit, last int64, err error) {
	tasks, err := f.tasks()
	if err != nil {
		return nil, 0, err
	}
	rows, err := e.pool.Query(ctx, `SELECT `+unitColumns+`, place FROM settle_fleet.unit
		WHERE place > $1 AND ($2 = '' OR state = $2) AND task @> $3::jsonb ORDER BY place LIMIT $4`, f.After, string(f.State), tasks, f.Limit)
	if err != nil {
		return nil, 0, fmt.Errorf("cannot list units: %w", err)
	}
	units, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (u fleet.Unit, err error) {
		err = row.Scan(
			&u.ID, &u.Task, &u.State, &u.Attempt, &u.Lost, &u.Worker, &u.Cancel, &u.Result, &u.Created, &u.Started,
			&u.Ended, &last,
		)
		return u, err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("cannot list units: %w", err)
	}
	return units, last, nil
}

// Counts are how many units are in each state.
type Counts struct {
	Queued, Running, Ended int
	// Completed, Failed and Aborted are those that have ended, by outcome.
	Completed, Failed, Aborted int
	// Lost is how many workers died with a unit.
	Lost int
	// Tokens and USD are what those took that have ended, and Unpriced how many of their
	// requests had a price that is not known.
	Tokens   int64
	USD      float64
	Unpriced int
}

// Count counts the units that have the labels.
func (e *Engine) Count(ctx context.Context, labels map[string]string) (Counts, error) {
	return e.Tally(ctx, Filter{Labels: labels})
}

// Tally counts the units that the filter chooses by label and batch.
func (e *Engine) Tally(ctx context.Context, f Filter) (c Counts, err error) {
	tasks, err := f.tasks()
	if err != nil {
		return c, err
	}
	err = e.pool.QueryRow(ctx, `SELECT count(*) FILTER (WHERE state = 'queued'), count(*) FILTER (WHERE state = 'running'), count(*) FILTER (WHERE state = 'ended'),
		count(*) FILTER (WHERE result ->> 'outcome' = 'completed'), count(*) FILTER (WHERE result ->> 'outcome' = 'failed'),
		count(*) FILTER (WHERE result ->> 'outcome' = 'aborted'), coalesce(sum(lost), 0),
		coalesce(sum((result #>> '{summary,usage,input_tokens}')::bigint + (result #>> '{summary,usage,output_tokens}')::bigint), 0)::bigint,
		coalesce(sum((result #>> '{summary,cost_usd}')::float8), 0), coalesce(sum((result #>> '{summary,unpriced}')::int), 0)
		FROM settle_fleet.unit WHERE task @> $1::jsonb`, tasks).
		Scan(
			&c.Queued, &c.Running, &c.Ended, &c.Completed, &c.Failed, &c.Aborted, &c.Lost, &c.Tokens, &c.USD, &c.Unpriced)
	if err != nil {
		return c, fmt.Errorf("cannot count units: %w", err)
	}
	return c, nil
}

// Open returns how many units have not ended.
func (e *Engine) Open(ctx context.Context) (int, error) { return e.OpenOf(ctx, Filter{}) }

// OpenOf returns how many of the units have not ended that the filter chooses by label
// and batch. It looks at no others.
func (e *Engine) OpenOf(ctx context.Context, f Filter) (n int, err error) {
	tasks, err := f.tasks()
	if err == nil {
		err = e.pool.QueryRow(ctx, `SELECT count(*) FROM settle_fleet.unit WHERE state <> 'ended' AND task @> $1::jsonb`, tasks).
			Scan(&n)
	}
	if err != nil {
		return 0, fmt.Errorf("cannot count units: %w", err)
	}
	return n, nil
}

// tasks returns what the tasks contain that the filter chooses.
func (f Filter) tasks() (string, error) {
	raw, err := json.Marshal(struct {
		Labels map[string]string `json:"labels,omitempty"`
		Batch  string            `json:"batch,omitempty"`
	}{f.Labels, f.Batch})
	return string(raw), err
}

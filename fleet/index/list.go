package index

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settle-agent/settle/fleet"
)

// Filter chooses tasks. The zero value chooses all.
type Filter struct {
	State  fleet.State
	Tenant string
	Batch  string
	Labels map[string]string // that they have
	// Since chooses tasks that were submitted at that time or later; of [fleet.Ended] tasks,
	// those that have ended then.
	Since time.Time
	// After is the place of the last task that was seen.
	After int64
	Limit int
}

// where returns the condition and its arguments.
func (f Filter) where() (string, []any, error) {
	var conditions []string
	var args []any
	add := func(condition string, arg any) {
		args = append(args, arg)
		conditions = append(conditions, fmt.Sprintf(condition, len(args)))
	}
	switch f.State {
	case "":
	case fleet.Held:
		conditions = append(conditions, "outcome = 'held'")
	case fleet.Ended:
		conditions = append(conditions, "state = 'ended' AND outcome <> 'held'")
	default:
		add("state = $%d", string(f.State))
	}
	if f.Tenant != "" {
		add("tenant = $%d", f.Tenant)
	}
	if f.Batch != "" {
		add("batch = $%d", f.Batch)
	}
	if len(f.Labels) > 0 {
		raw, err := json.Marshal(map[string]any{"labels": f.Labels})
		if err != nil {
			return "", nil, err
		}
		add("task @> $%d::jsonb", string(raw))
	}
	switch {
	case f.Since.IsZero():
	case f.State == fleet.Ended:
		add("ended >= $%d", f.Since)
	default:
		add("created >= $%d", f.Since)
	}
	if f.After > 0 {
		add("place > $%d", f.After)
	}
	if len(conditions) == 0 {
		return "true", nil, nil
	}
	return strings.Join(conditions, " AND "), args, nil
}

// List returns tasks in the order in which they were submitted, and the place of
// the last one.
func (x *Index) List(ctx context.Context, f Filter) (tasks []fleet.TaskStatus, last int64, err error) {
	where, args, err := f.where()
	if err != nil {
		return nil, 0, err
	}
	rows, err := x.pool.Query(ctx, fmt.Sprintf(
		`SELECT %s, place FROM settle_fleet.unit WHERE %s ORDER BY place LIMIT %d`, statusColumns, where, f.Limit,
	), args...)
	if err != nil {
		return nil, 0, fmt.Errorf("cannot list tasks: %w", err)
	}
	tasks, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (u fleet.TaskStatus, err error) {
		err = row.Scan(append(statusFields(&u), &last)...)
		return u, err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("cannot list tasks: %w", err)
	}
	return tasks, last, nil
}

// Counts has the numbers of tasks in each state.
type Counts struct {
	Queued, Running, Ended int
	// Held is the number of tasks that wait for a person.
	Held int
	// Completed, Failed and Aborted are the numbers of tasks that have ended, by outcome.
	Completed, Failed, Aborted int
	// Lost is the number of workers that died with a task.
	Lost int
	// Tokens and USD are the usage of the tasks that have ended, and Unpriced is the number of their
	// requests with an unknown price.
	Tokens   int64
	USD      float64
	Unpriced int
	// Outbox is the number of tasks that Temporal does not have yet, and OutboxAge the seconds since the first of
	// them was submitted.
	Outbox    int
	OutboxAge float64
}

// tally reads columns of the index unit_tally only, unless the filter needs others.
const tally = `SELECT count(*) FILTER (WHERE state = 'queued'), count(*) FILTER (WHERE state = 'running'),
	count(*) FILTER (WHERE state = 'ended' AND outcome <> 'held'), count(*) FILTER (WHERE outcome = 'held'),
	count(*) FILTER (WHERE outcome = 'completed'),
	count(*) FILTER (WHERE outcome = 'failed'), count(*) FILTER (WHERE outcome = 'aborted'),
	coalesce(sum(lost), 0), coalesce(sum(tokens), 0)::bigint, coalesce(sum(usd), 0), coalesce(sum(unpriced), 0)
	FROM settle_fleet.unit WHERE %s`

// Tally counts the tasks that the filter chooses.
func (x *Index) Tally(ctx context.Context, f Filter) (c Counts, err error) {
	where, args, err := f.where()
	if err != nil {
		return c, err
	}
	err = x.pool.QueryRow(ctx, fmt.Sprintf(tally, where), args...).Scan(
		&c.Queued, &c.Running, &c.Ended, &c.Held, &c.Completed, &c.Failed, &c.Aborted, &c.Lost, &c.Tokens, &c.USD,
		&c.Unpriced)
	if err == nil {
		c.Outbox, c.OutboxAge, err = x.outbox(ctx, where, args...)
	}
	if err != nil {
		return c, fmt.Errorf("cannot count tasks: %w", err)
	}
	return c, nil
}

// Outbox returns how many tasks of the fleet Temporal does not know yet, and the time since the first of them was
// submitted.
func (x *Index) Outbox(ctx context.Context) (n int, age time.Duration, err error) {
	n, seconds, err := x.outbox(ctx, "true")
	if err != nil {
		return 0, 0, fmt.Errorf("cannot count the tasks in the outbox: %w", err)
	}
	return n, time.Duration(seconds * float64(time.Second)), nil
}

// outbox counts the tasks in the outbox that a condition chooses, and the seconds since the first was submitted.
func (x *Index) outbox(ctx context.Context, where string, args ...any) (n int, age float64, err error) {
	err = x.pool.QueryRow(
		ctx, `SELECT count(*), coalesce(extract(epoch FROM now() - min(created)), 0)::float8
		FROM settle_fleet.unit WHERE outbox IS NOT NULL AND `+where, args...,
	).Scan(&n, &age)
	return n, age, err
}

// Open returns how many of the tasks that the filter chooses have not ended and do not wait for a
// person. It looks at no others.
func (x *Index) Open(ctx context.Context, f Filter) (n int, err error) {
	where, args, err := f.where()
	if err == nil {
		err = x.pool.QueryRow(ctx, `SELECT count(*) FROM settle_fleet.unit WHERE state <> 'ended' AND `+where, args...).
			Scan(&n)
	}
	if err != nil {
		return 0, fmt.Errorf("cannot count tasks: %w", err)
	}
	return n, nil
}

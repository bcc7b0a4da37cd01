package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
)

// Ref is the reference to a task that Temporal has: the names that decide about its place in the queue, and
// no text that a person wrote (C15).
type Ref struct {
	TaskID string  `json:"unit"`
	Tenant string  `json:"tenant,omitempty"`
	Weight float32 `json:"weight,omitempty"` // of the tenant
	Batch  string  `json:"batch,omitempty"`
	Model  string  `json:"model,omitempty"`
}

// refColumns are a [Ref]'s, of the task u and its tenant t.
const refColumns = `u.id, u.tenant, coalesce(t.weight, 1)::real, u.batch, coalesce(u.task ->> 'model', '')`

func (r *Ref) fields() []any { return []any{&r.TaskID, &r.Tenant, &r.Weight, &r.Batch, &r.Model} }

// nextTask is the task of the session $1 that is next (C3) in the task queue of the task $2. The task that runs, or
// whose worker died, is the first one. Next is a task that was given back in the middle of its work, so that no other
// task's turn comes between. Then the order of submission decides. A task that has a verdict since its last attempt is
// not in the middle of its work: the last verdict has the number of the attempt that it follows. Tasks that were given
// back are few, and precede new ones: the query looks at the first 100 only, since a session can have thousands.
//
// Tasks of other queues belong to another workflow. [Index.Accept] refuses them while tasks are open, and older
// versions did not.
//
// A place is given before it is committed: where two
// programs submit to one session, a later task can run before an earlier one is seen.
const nextTask = `coalesce(
	(SELECT r.id FROM settle_fleet.unit r WHERE r.session = $1 AND r.state = 'running' AND r.queue = ` + queueOf + `),
	(SELECT o.id FROM (
			SELECT * FROM settle_fleet.unit WHERE session = $1 AND state <> 'ended' AND queue = ` + queueOf + `
			ORDER BY place LIMIT 100
		) o
		ORDER BY CASE WHEN o.attempt = 0 THEN false
			ELSE coalesce((o.task #>> '{verdicts,-1,attempt}')::integer, 0) < o.attempt END DESC, o.place LIMIT 1))`

// queueOf is the task queue of the task $2. For a task that a restored database does not have, it is the task queue
// of the session's open tasks.
const queueOf = `coalesce((SELECT queue FROM settle_fleet.unit WHERE id = $2),
	(SELECT queue FROM settle_fleet.unit WHERE session = $1 AND state <> 'ended' ORDER BY place LIMIT 1))`

// claim gives a task that is the first of its session to a worker, and raises the session's
// fencing epoch: the worker that had the session before cannot write its log any more.
const claim = `
WITH c AS (
	SELECT u.id, u.session, u.state FROM settle_fleet.unit u
	WHERE u.id = $2 AND u.state <> 'ended' AND u.id = ` + nextTask + ` FOR UPDATE OF u
), s AS (
	UPDATE settle_fleet.session SET epoch = epoch + 1, updated = now() FROM c WHERE session.id = c.session
	RETURNING session.id, session.epoch, session.seq
)
UPDATE settle_fleet.unit u SET state = 'running', worker = $3, attempt = u.attempt + 1,
	lost = u.lost + (c.state = 'running')::int, epoch = s.epoch,
	taken = now(), started = coalesce(u.started, now()), outbox = NULL
FROM c, s WHERE u.id = c.id AND s.id = u.session
RETURNING u.id, u.task, u.attempt, u.lost, u.epoch, coalesce(u.cancel, ''), u.task -> 'verdicts',
	c.state = 'running', s.seq, extract(epoch FROM u.taken - u.created)::float8`

// session returns the session of a task.
func session(taskID string) string {
	session, _, _ := strings.Cut(taskID, "/")
	return session
}

// uniqueViolation is Postgres's code of a duplicate key: here, a second running task of a session.
const uniqueViolation = "23505"

// Claim gives a task to a worker. If the task is not the first of its session that has not
// ended, there is no attempt.
func (x *Index) Claim(ctx context.Context, taskID, worker string) (*fleet.Attempt, error) {
	a, age, pgErr := &fleet.Attempt{}, 0.0, (*pgconn.PgError)(nil)
	err := x.pool.QueryRow(ctx, claim, session(taskID), taskID, worker).
		Scan(&a.TaskID, &a.Task, &a.Number, &a.Lost, &a.Epoch, &a.Cancel, &a.Verdicts, &a.Rescued, &a.Seq, &age)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil // it is not the task's turn
	case errors.As(err, &pgErr) && pgErr.Code == uniqueViolation:
		return nil, fmt.Errorf("cannot take task %s: a task of its session runs in another task queue", taskID)
	case err != nil:
		return nil, fmt.Errorf("cannot take task %s: %w", taskID, err)
	}
	a.Age = time.Duration(age * float64(time.Second))
	return a, nil
}

// Standing is the state of a task after an attempt, and the next task of its session.
type Standing struct {
	// Known says that there is such a task.
	Known   bool
	State   fleet.State
	Attempt int
	Outcome event.Outcome
	Reason  event.Reason
	// Seq is the number of the last event of the session's log.
	Seq int64
	// Next is the task of the session that is next; nil if all have ended.
	Next *Ref
}

// Standing returns the state of a task, and the next task of its session and task queue.
func (x *Index) Standing(ctx context.Context, taskID string) (s Standing, err error) {
	batch, next := &pgx.Batch{}, Ref{}
	batch.Queue(`SELECT u.state, u.attempt, u.outcome, coalesce(u.result ->> 'reason', ''), s.seq
		FROM settle_fleet.unit u JOIN settle_fleet.session s ON s.id = u.session WHERE u.id = $1`, taskID).
		QueryRow(func(row pgx.Row) error {
			err := row.Scan(&s.State, &s.Attempt, &s.Outcome, &s.Reason, &s.Seq)
			s.Known = err == nil
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		})
	batch.Queue(`SELECT `+refColumns+` FROM settle_fleet.unit u
		LEFT JOIN settle_fleet.tenant t ON t.name = u.tenant WHERE u.id = `+nextTask, session(taskID), taskID).
		QueryRow(func(row pgx.Row) error {
			err := row.Scan(next.fields()...)
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			s.Next = &next
			return err
		})
	if err := x.pool.SendBatch(ctx, batch).Close(); err != nil {
		return Standing{}, fmt.Errorf("cannot read the state of task %s: %w", taskID, err)
	}
	return s, nil
}

// end ends the task, or gives it back, if the attempt is the last one and the log has the events
// up to that of the result. A task that was cancelled is not held.
const end = `
UPDATE settle_fleet.unit u SET
	state = CASE WHEN $4::jsonb IS NULL THEN 'queued' ELSE 'ended' END,
	result = CASE WHEN $4::jsonb ->> 'outcome' = 'held' AND cancel IS NOT NULL THEN
		($4::jsonb - 'held') || jsonb_build_object('outcome', 'aborted', 'reason', 'interrupted',
			'message', 'cancelled by ' || cancel || ' while a call waited for a person')
		ELSE $4::jsonb END,
	ended = CASE WHEN $4::jsonb IS NULL THEN NULL ELSE now() END
FROM settle_fleet.session s
WHERE u.id = $1 AND u.epoch = $2 AND u.state = 'running' AND s.id = u.session AND s.epoch = $2 AND s.seq >= $3`

// End ends an attempt: with a result the task has ended, with nil it is for another worker. A
// result counts only if the log has the turn's end under the attempt's epoch; otherwise End
// returns [fleet.ErrLost].
func (x *Index) End(ctx context.Context, a fleet.Attempt, r *fleet.Result) error {
	var result *string
	var seq int64
	if r != nil {
		raw, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("cannot encode the result of task %s: %w", a.TaskID, err)
		}
		text := replaceNUL(raw)
		result, seq = &text, int64(r.Seq) // it counts events
	}
	tag, err := x.pool.Exec(ctx, end, a.TaskID, a.Epoch, seq, result)
	switch {
	case err != nil:
		return fmt.Errorf("cannot end task %s: %w", a.TaskID, err)
	case tag.RowsAffected() == 0:
		return fleet.ErrLost
	}
	return nil
}

// replaceNUL returns JSON that Postgres stores as jsonb: Postgres refuses a NUL, which models and
// servers may send. The log has the original text.
func replaceNUL(raw []byte) string {
	const nul, length = `u0000`, len(`u0000`)
	for n := 0; n < len(raw)-length; n++ {
		if raw[n] == '\\' {
			if n++; string(raw[n:n+length]) == nul {
				copy(raw[n:], "ufffd")
			}
		}
	}
	return string(raw)
}

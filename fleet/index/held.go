package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
)

// answer records the verdict $3 about the call $2 of a held task, unless there is one. With the last
// verdict that it waits for, the task is queued, and goes into the outbox. Its task queue becomes the queue of the
// session's open tasks, which can be another one since then. The verdicts are stored in the
// task, so that schemas of older versions have a place for them, with the number of the attempt that they follow:
// see [nextTask].
const answer = `
UPDATE settle_fleet.unit SET
	task = jsonb_set(task, '{verdicts}', coalesce(task -> 'verdicts', '[]') ||
		($3::jsonb || jsonb_build_object('attempt', attempt))),
	state = CASE WHEN ` + waits + ` THEN state ELSE 'queued' END,
	result = CASE WHEN ` + waits + ` THEN result END,
	ended = CASE WHEN ` + waits + ` THEN ended END,
	outbox = CASE WHEN ` + waits + ` THEN outbox ELSE now() + $4::interval END,
	queue = coalesce((SELECT o.queue FROM settle_fleet.unit o
		WHERE o.session = unit.session AND o.state <> 'ended' ORDER BY o.place LIMIT 1), queue)
WHERE id = $1 AND outcome = 'held'
	AND result -> 'held' @> jsonb_build_array(jsonb_build_object('id', $2::text))
	AND NOT coalesce(task -> 'verdicts', '[]') @> jsonb_build_array(jsonb_build_object('call', $2::text))
RETURNING state = 'queued'`

// waits says whether a held task waits for a verdict about another call than $2.
const waits = `EXISTS (SELECT FROM jsonb_array_elements(result -> 'held') h WHERE h ->> 'id' <> $2::text
	AND NOT coalesce(task -> 'verdicts', '[]') @> jsonb_build_array(jsonb_build_object('call', h -> 'id')))`

// Answer records a verdict about a held call of a task. If the task waits for no other verdict, it is
// queued, as when it was accepted, and the caller has [SendDelay] to send it. The first verdict
// counts: a later one, or one about a call that does not wait any more, is an [*AnsweredError].
func (x *Index) Answer(ctx context.Context, taskID string, v fleet.Verdict) (queued bool, err error) {
	if err := checkVerdict(v); err != nil {
		return false, err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return false, fmt.Errorf("cannot encode the verdict: %w", err)
	}
	err = x.pool.QueryRow(ctx, answer, taskID, v.Call, replaceNUL(raw), SendDelay).Scan(&queued)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		u, err := x.State(ctx, taskID)
		if err != nil {
			return false, err
		}
		return false, &AnsweredError{Call: v.Call, Task: u}
	case err != nil:
		return false, fmt.Errorf("cannot record the verdict about a call of task %s: %w", taskID, err)
	}
	return queued, nil
}

// maxMessage is the maximum size of the message of a verdict, in bytes.
const maxMessage = 64 << 10

// checkVerdict refuses what a session would refuse: its task could not continue.
func checkVerdict(v fleet.Verdict) error {
	switch {
	case v.Verdict != event.Approved && v.Verdict != event.Denied:
		return fmt.Errorf("cannot answer a held call with %q: approved and denied are known", v.Verdict)
	case len(v.Message) > maxMessage:
		return fmt.Errorf(
			"cannot record a message of %d bytes about a held call: %d are the most; use a shorter one",
			len(v.Message), maxMessage,
		)
	}
	return nil
}

// AnsweredError reports a verdict that came too late. It had no effect.
type AnsweredError struct {
	Call string
	Task fleet.TaskStatus
}

// Verdict returns the verdict that counts; nil if the call ended without one. It is [event.Expired] if the task was
// cancelled before a person decided.
func (e *AnsweredError) Verdict() *fleet.Verdict { return VerdictOn(e.Task, e.Call) }

func (e *AnsweredError) Error() string {
	v := e.Verdict()
	switch {
	case v != nil && v.Verdict != event.Expired:
		return fmt.Sprintf("it was %s before by %s; nothing was run", v.Verdict, v.By)
	case e.Task.Cancel != "":
		return fmt.Sprintf("its task %s was cancelled by %s; nothing was run", e.Task.ID, e.Task.Cancel)
	}
	return fmt.Sprintf("its task %s does not wait for it any more (%s); nothing was run", e.Task.ID, e.Task.State)
}

// VerdictOn returns the verdict about a call of the task; nil if there is none.
func VerdictOn(u fleet.TaskStatus, call string) *fleet.Verdict {
	for n, v := range u.Verdicts {
		if v.Call == call {
			return &u.Verdicts[n]
		}
	}
	return nil
}

// WithVerdict returns the tasks with a verdict about a call whose id begins with the text. A held task that was
// cancelled has expired verdicts.
func (x *Index) WithVerdict(ctx context.Context, call string) ([]fleet.TaskStatus, error) {
	rows, err := x.pool.Query(ctx, `SELECT `+statusColumns+` FROM settle_fleet.unit WHERE task ? 'verdicts' AND EXISTS (
		SELECT FROM jsonb_array_elements(task -> 'verdicts') v WHERE starts_with(v ->> 'call', $1))
		ORDER BY place`, call)
	if err == nil {
		var tasks []fleet.TaskStatus
		tasks, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (u fleet.TaskStatus, err error) {
			return u, row.Scan(statusFields(&u)...)
		})
		if err == nil {
			return tasks, nil
		}
	}
	return nil, fmt.Errorf("cannot find the tasks that people decided about: %w", err)
}

package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/pglog"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/frontend/web"
)

// MaxTasks is the number of tasks that the list is made of: those that were submitted last.
const MaxTasks = 500

// Archive reads the sessions of a fleet. Its methods may be called by several goroutines.
type Archive struct {
	Pool *pgxpool.Pool
	Logs *pglog.Logs
	// Engine ends tasks.
	Engine fleet.Engine
	// Batch and Labels choose the tasks whose sessions are listed; all, if there are none.
	Batch  string
	Labels map[string]string
}

var _ web.Archive = (*Archive)(nil)

// stateQueued is the state of a session none of whose tasks has been taken yet.
const stateQueued store.State = "queued"

// List implements [web.Archive]. The last task of a session says how it is.
func (a *Archive) List(ctx context.Context) ([]web.Entry, error) {
	filter, err := json.Marshal(struct {
		Labels map[string]string `json:"labels,omitempty"`
		Batch  string            `json:"batch,omitempty"`
	}{a.Labels, a.Batch})
	if err != nil {
		return nil, err
	}
	rows, err := a.Pool.Query(
		ctx,
		`SELECT session, left(task ->> 'prompt', 400), coalesce(task ->> 'repo', task ->> 'dir', ''), coalesce(task ->> 'model', ''),
		CASE WHEN outcome = 'held' THEN 'waiting' WHEN state = 'ended' THEN 'closed' ELSE state END, coalesce(result ->> 'outcome', ''), coalesce(result ->> 'reason', ''), created, coalesce(ended, started, created)
		FROM settle_fleet.unit WHERE task @> $1::jsonb ORDER BY place DESC LIMIT $2`,
		string(filter),
		MaxTasks,
	)
	if err != nil {
		return nil, fmt.Errorf("cannot list sessions: %w", err)
	}
	tasks, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e web.Entry, err error) {
		err = row.Scan(&e.Session, &e.Title, &e.Dir, &e.Model, &e.State, &e.Outcome, &e.Reason, &e.Created, &e.Updated)
		e.Title, _, _ = strings.Cut(strings.TrimSpace(e.Title), "\n")
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list sessions: %w", err)
	}
	return bySession(tasks), nil
}

// bySession makes one entry of each session's tasks, which come the last one first.
// The title is the first task's; a task that runs counts for more than those that wait
// behind it, and one that waits for a person for more than those that have ended.
func bySession(tasks []web.Entry) []web.Entry {
	at := map[string]int{}
	var all []web.Entry
	for _, u := range tasks {
		n, found := at[u.Session]
		if !found {
			at[u.Session] = len(all)
			all = append(all, u)
			continue
		}
		e := &all[n]
		e.Title, e.Created = u.Title, u.Created
		if e.State == stateQueued && u.State == store.Running || e.State == store.Closed && u.State == store.Waiting {
			e.State = u.State
		}
		if u.Updated.After(e.Updated) {
			e.Updated = u.Updated
		}
	}
	return all
}

// State implements [web.Archive]. A session whose tasks wait has an empty log.
func (a *Archive) State(ctx context.Context, session string) (event.State, error) {
	st := event.State{Session: session}
	for e, err := range a.Logs.Read(ctx, session, 0) {
		if err == nil {
			st, err = event.Fold(st, e)
		}
		if err != nil {
			return event.State{}, err
		}
	}
	return st, ctx.Err()
}

// Follow implements [web.Archive].
func (a *Archive) Follow(ctx context.Context, session string, cursor uint64) iter.Seq2[event.Event, error] {
	return a.Logs.Follow(ctx, session, cursor)
}

// Interrupt implements [web.Archive]: it cancels the session's task that runs.
func (a *Archive) Interrupt(ctx context.Context, session, by string) (bool, error) {
	var taskID string
	err := a.Pool.QueryRow(ctx, `SELECT id FROM settle_fleet.unit WHERE session = $1 AND state = 'running'`, session).
		Scan(&taskID)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot find what runs in session %q: %w", session, err)
	}
	if _, err := a.Engine.Cancel(ctx, taskID, by); err != nil {
		return false, err
	}
	if _, err := fleet.Wait(ctx, a.Engine, taskID); err != nil && !errors.As(err, new(*fleet.IncompleteError)) {
		return true, err
	}
	return true, nil
}

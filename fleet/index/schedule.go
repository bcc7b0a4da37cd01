package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settle-agent/settle/fleet"
)

// Schedule is a task that is submitted again and again. Temporal knows its times, and not its
// prompt (C15).
type Schedule struct {
	Name string `json:"schedule"`
	// Cron and Every say when; one of them is set.
	Cron  string        `json:"cron,omitempty"`
	Every time.Duration `json:"every,omitempty"` // in nanoseconds
	// Task is the task, without a session: each run has its own.
	Task    fleet.Task `json:"task"`
	Queue   string     `json:"queue"`
	Created time.Time  `json:"created"`
}

const scheduleColumns = `name, cron, every, task, queue, created`

func (s *Schedule) fields() []any {
	return []any{&s.Name, &s.Cron, &s.Every, &s.Task, &s.Queue, &s.Created}
}

// AddSchedule stores a schedule, and reports whether its name was free.
func (x *Index) AddSchedule(ctx context.Context, s Schedule) (bool, error) {
	raw, err := json.Marshal(s.Task)
	if err != nil {
		return false, fmt.Errorf("cannot encode the task of schedule %q: %w", s.Name, err)
	}
	tag, err := x.pool.Exec(ctx, `INSERT INTO settle_fleet.schedule (name, cron, every, task, queue)
		VALUES ($1, $2, $3, $4::jsonb, $5) ON CONFLICT (name) DO NOTHING`, s.Name, s.Cron, s.Every, string(raw), s.Queue)
	if err != nil {
		return false, fmt.Errorf("cannot store schedule %q: %w", s.Name, err)
	}
	return tag.RowsAffected() > 0, nil
}

// RemoveSchedule deletes a schedule, and reports whether there was one.
func (x *Index) RemoveSchedule(ctx context.Context, name string) (bool, error) {
	tag, err := x.pool.Exec(ctx, `DELETE FROM settle_fleet.schedule WHERE name = $1`, name)
	if err != nil {
		return false, fmt.Errorf("cannot delete schedule %q: %w", name, err)
	}
	return tag.RowsAffected() > 0, nil
}

// Schedule returns the schedule with the name; nil if there is none.
func (x *Index) Schedule(ctx context.Context, name string) (*Schedule, error) {
	s := &Schedule{}
	err := x.pool.QueryRow(ctx, `SELECT `+scheduleColumns+` FROM settle_fleet.schedule WHERE name = $1`, name).
		Scan(s.fields()...)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil // there is none
	case err != nil:
		return nil, fmt.Errorf("cannot read schedule %q: %w", name, err)
	}
	return s, nil
}

// Schedules returns all schedules, by name.
func (x *Index) Schedules(ctx context.Context) ([]Schedule, error) {
	rows, err := x.pool.Query(ctx, `SELECT `+scheduleColumns+` FROM settle_fleet.schedule ORDER BY name`)
	if err == nil {
		var list []Schedule
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s Schedule, err error) {
			err = row.Scan(s.fields()...)
			return s, err
		})
		if err == nil {
			return list, nil
		}
	}
	return nil, fmt.Errorf("cannot list schedules: %w", err)
}

package catalogue

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
)

// Request is a request to a model, also for a review, with its usage.
type Request struct {
	Session string    // session that sent it
	Dir     string    // working directory of the session; for a child agent, of its topmost parent
	ID      string    // attempt or hook in the session
	Started time.Time // when the request was sent
	Model   string    // "provider/name"
	Usage   event.Usage
	Cost    *float64 // US dollars; nil if the price is unknown
}

// requestsOf returns the requests of a session, without the imported ones: another
// machine, or an earlier session, paid for these.
func requestsOf(state event.State) (out []Request) {
	for _, t := range state.Turns {
		if t.StartSeq <= state.Imported {
			continue
		}
		for _, a := range t.ModelRequests() {
			r := Request{ID: a.ID, Started: a.At, Model: a.FullName()}
			if a.Spent != nil {
				r.Usage, r.Cost = event.Usage{}.Add(a.Spent.Usage), a.Spent.Cost
			}
			out = append(out, r)
		}
	}
	return out
}

// Requests returns the requests of all sessions since the time, in their order, child
// agents included. A request that several sessions have because they are copies of one
// session is returned once. Damaged is the number of logs of which a part cannot be
// read. If the error is a [Warning], the result is still complete.
func (c *Catalogue) Requests(ctx context.Context, since time.Time) (out []Request, damaged int, err error) {
	rows, warning, err := c.refresh(ctx, Query{})
	if err != nil {
		return nil, 0, err
	}
	for _, r := range rows {
		if r.Problem != "" {
			damaged++
		}
	}
	var all []Request
	if warning == nil && c.db != nil {
		if all, err = c.requests(ctx, since); err != nil {
			warning = c.warn(err)
		}
	}
	if warning != nil || c.db == nil {
		if all, err = c.readRequests(ctx, rows); err != nil {
			return nil, 0, err
		}
	}
	dirs := dirsOf(rows)
	for n := range all {
		all[n].Dir = dirs(all[n].Session)
	}
	all = slices.DeleteFunc(all, func(r Request) bool { return r.Started.Before(since) })
	return distinct(all), damaged, warning
}

// readRequests returns the requests from the logs: the database is unusable.
func (c *Catalogue) readRequests(ctx context.Context, rows []row) (out []Request, err error) {
	for _, r := range rows {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if r.requests == nil {
			state, _ := journal.Load(c.dir, r.Session) // of a damaged log, the readable part
			r.requests = requestsOf(state)
		}
		for _, q := range r.requests {
			q.Session = r.Session
			out = append(out, q)
		}
	}
	return out, nil
}

// dirsOf returns a function from a session to the directory to which its usage counts.
func dirsOf(rows []row) func(session string) string {
	by := map[string]row{}
	for _, r := range rows {
		by[r.Session] = r
	}
	return func(session string) string {
		r := by[session]
		for range rows { // a log may name any parent: bounded
			parent, known := by[r.Parent]
			if !known {
				break
			}
			r = parent
		}
		return r.Dir
	}
}

// distinct sorts the requests by time and removes the copies that a fork of a session made.
func distinct(all []Request) []Request {
	slices.SortStableFunc(all, func(a, b Request) int {
		return cmp.Or(
			a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Model, b.Model),
			// The copy of a request that was running has no usage.
			cmp.Compare(b.Usage.Total(), a.Usage.Total()), cmp.Compare(a.Session, b.Session),
		)
	})
	return slices.CompactFunc(all, func(a, b Request) bool {
		return a.Started.Equal(b.Started) && a.ID == b.ID && a.Model == b.Model
	})
}

// saveRequests replaces the stored requests of a session.
func saveRequests(ctx context.Context, tx *sql.Tx, r row) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM attempt WHERE session = ?", r.Session); err != nil {
		return err
	}
	if len(r.requests) == 0 {
		return nil
	}
	insert, err := tx.PrepareContext(ctx, "INSERT INTO attempt VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	for n, q := range r.requests {
		u := q.Usage
		if _, err := insert.ExecContext(
			ctx, r.Session, n, q.ID, q.Started.UnixNano(), q.Model, u.Input, u.CacheRead, u.CacheWrite, u.Output,
			u.Reasoning, q.Cost,
		); err != nil {
			return err
		}
	}
	return nil
}

// requests reads the stored requests since the time.
func (c *Catalogue) requests(ctx context.Context, since time.Time) (out []Request, err error) {
	from := int64(math.MinInt64)
	if !since.IsZero() {
		from = since.UnixNano()
	}
	rows, err := c.db.QueryContext(ctx, `SELECT session, id, started, model, input, cache_read, cache_write, output,
		reasoning, cost FROM attempt WHERE started >= ?`, from)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r Request
		var started int64
		u := &r.Usage
		if err := rows.Scan(&r.Session, &r.ID, &started, &r.Model, &u.Input, &u.CacheRead, &u.CacheWrite, &u.Output,
			&u.Reasoning, &r.Cost); err != nil {
			return nil, err
		}
		r.Started = time.Unix(0, started).UTC()
		out = append(out, r)
	}
	return out, rows.Err()
}

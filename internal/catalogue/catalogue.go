package catalogue

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/settle-agent/settle/internal/journal"
)

// Catalogue is an open catalogue. It is for one goroutine at a time.
type Catalogue struct {
	dir string
	db  *sql.DB // nil if it cannot be used
}

// Warning says that the catalogue cannot be used. It is no reason to fail:
// the sessions are in their logs.
type Warning struct {
	Path string
	Err  error
}

func (w *Warning) Error() string {
	return fmt.Sprintf("cannot use the catalogue of sessions %q: %v; sessions are not affected, listing them is slower; delete the file to have it made anew", w.Path, w.Err)
}

// Unwrap returns the cause.
func (w *Warning) Unwrap() error { return w.Err }

// Query says which sessions to list.
type Query struct {
	Text string // occurs in an input, the title, the directory or the id, in any case
	Dir  string // working directory, exactly
	// Children has child agents listed as well.
	Children bool
	Limit    int // at most so many; 0 is all
	// Except, if set, leaves out sessions of which the caller knows more. Their
	// logs are not read.
	Except func(session string) bool
}

func (c *Catalogue) warn(err error) error {
	return &Warning{Path: path(c.dir), Err: err}
}

func path(dir string) string { return filepath.Join(dir, "catalogue.db") }

// List returns the sessions that the query asks for, those that changed last
// first. If the error is a [Warning], the list is complete all the same.
func (c *Catalogue) List(ctx context.Context, q Query) ([]Entry, error) {
	logs, err := journal.List(c.dir)
	if err != nil {
		return nil, err
	}
	known, warning := c.load(ctx)
	rows, changed, err := c.reconcile(ctx, q.wanted(logs), known)
	if err != nil {
		return nil, err
	}
	if warning == nil {
		warning = c.save(ctx, changed, gone(logs, known))
	}
	if warning != nil {
		warning = c.warn(warning)
	}
	return q.pick(c.dir, rows), warning
}

// wanted returns the logs that are to be looked at.
func (q Query) wanted(logs []journal.Entry) []journal.Entry {
	if q.Except == nil {
		return logs
	}
	return slices.DeleteFunc(slices.Clone(logs), func(e journal.Entry) bool { return q.Except(e.Session) })
}

// reconcile returns a row for each log, and which of them are new.
func (c *Catalogue) reconcile(ctx context.Context, logs []journal.Entry, known map[string]row) (rows, changed []row, err error) {
	for _, log := range logs {
		if ctx.Err() != nil {
			return nil, nil, fmt.Errorf("cannot list sessions: %w", context.Cause(ctx))
		}
		r, ok := known[log.Session]
		if !ok || r.size != log.Size || r.modified != log.Updated.UnixNano() {
			r = read(c.dir, log)
			changed = append(changed, r)
		}
		rows = append(rows, r)
	}
	return rows, changed, nil
}

// gone returns the known sessions that have no log any more.
func gone(logs []journal.Entry, known map[string]row) []string {
	left := map[string]bool{}
	for _, log := range logs {
		left[log.Session] = true
	}
	var out []string
	for session := range known {
		if !left[session] {
			out = append(out, session)
		}
	}
	return out
}

// pick returns what the query asks for, in its order.
func (q Query) pick(dir string, rows []row) []Entry {
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Session, b.Session))
	})
	var out []Entry
	for _, r := range rows {
		if q.matches(r) && (q.Limit == 0 || len(out) < q.Limit) {
			out = append(out, r.alive(dir))
		}
	}
	return out
}

// Rebuild makes the catalogue anew from the logs. Its error is a [Warning] if
// it is about the database.
func (c *Catalogue) Rebuild(ctx context.Context) error {
	if c.db != nil {
		if _, err := c.db.ExecContext(ctx, "DELETE FROM session"); err != nil {
			return c.warn(err)
		}
	}
	_, err := c.List(ctx, Query{})
	return err
}

// Close closes the database.
func (c *Catalogue) Close() error {
	if c.db == nil {
		return nil
	}
	if err := c.db.Close(); err != nil {
		return c.warn(err)
	}
	return nil
}

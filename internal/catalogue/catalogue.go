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

// Catalogue is an open catalogue. Only one goroutine at a time can use it.
type Catalogue struct {
	dir string
	db  *sql.DB // nil if the database is unusable
}

// Warning reports an unusable catalogue. Callers should continue: the sessions are in
// their logs.
type Warning struct {
	Path string
	Err  error
}

func (w *Warning) Error() string {
	return fmt.Sprintf(
		"cannot use the catalogue of sessions %q: %v; sessions are not affected, listing them is slower; delete the file, and settle creates it again",
		w.Path,
		w.Err,
	)
}

// Unwrap returns the cause.
func (w *Warning) Unwrap() error { return w.Err }

// Query selects the sessions of a list.
type Query struct {
	Text string // text in an input, the title, the directory or the id; ignores case
	Dir  string // working directory, exactly
	// Children includes child agents.
	Children bool
	Limit    int // maximum number; 0 is all
	// Except, if set, excludes sessions about which the caller knows more. List does
	// not read their logs.
	Except func(session string) bool
}

func (c *Catalogue) warn(err error) error {
	return &Warning{Path: path(c.dir), Err: err}
}

func path(dir string) string { return filepath.Join(dir, "catalogue.db") }

// List returns the sessions that match the query, most recently changed first. If the
// error is a [Warning], the list is still complete.
func (c *Catalogue) List(ctx context.Context, q Query) ([]Entry, error) {
	rows, warning, err := c.refresh(ctx, q)
	if err != nil {
		return nil, err
	}
	return q.pick(c.dir, rows), warning
}

// refresh returns the rows of the logs that the query can match, and stores new rows. The warning
// is a [Warning].
func (c *Catalogue) refresh(ctx context.Context, q Query) (rows []row, warning, err error) {
	logs, err := journal.List(c.dir)
	if err != nil {
		return nil, nil, err
	}
	known, warning := c.load(ctx)
	rows, changed, err := c.reconcile(ctx, q.wanted(logs), known)
	if err != nil {
		return nil, nil, err
	}
	if warning == nil {
		warning = c.save(ctx, changed, deleted(logs, known))
	}
	if warning != nil {
		warning = c.warn(warning)
	}
	return rows, warning, nil
}

// wanted returns the logs that the query can match.
func (q Query) wanted(logs []journal.Entry) []journal.Entry {
	if q.Except == nil {
		return logs
	}
	return slices.DeleteFunc(slices.Clone(logs), func(e journal.Entry) bool { return q.Except(e.Session) })
}

// reconcile returns a row for each log, and the rows that are new.
func (c *Catalogue) reconcile(
	ctx context.Context, logs []journal.Entry, known map[string]row,
) (rows, changed []row, err error) {
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

// deleted returns the known sessions whose logs were deleted.
func deleted(logs []journal.Entry, known map[string]row) []string {
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

// pick returns the entries that match the query, in the query's order.
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

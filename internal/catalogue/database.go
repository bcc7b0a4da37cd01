package catalogue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/settle-agent/settle/event"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/scope"
)

const (
	// version is the version of the schema and of the content of rows, such as titles;
	// it is stored as the database's user_version.
	version = 8
	// busyTimeout bounds the wait for another process's write.
	busyTimeout = 5 * time.Second
	// retryDelay is the delay between attempts for which SQLite does not wait itself: to
	// change the journal mode, and to replace a damaged file.
	retryDelay = 10 * time.Millisecond
)

const schema = `
CREATE TABLE session (
	id      TEXT PRIMARY KEY,
	size    INTEGER NOT NULL, -- bytes of the log that this row is about,
	changed INTEGER NOT NULL, -- and when it was written; nanoseconds since 1970
	dir     TEXT NOT NULL,
	title   TEXT NOT NULL,
	model   TEXT NOT NULL,
	outcome TEXT NOT NULL,
	reason  TEXT NOT NULL,
	running INTEGER NOT NULL,
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	seq     INTEGER NOT NULL,
	problem TEXT NOT NULL,
	words   TEXT NOT NULL,
	parent  TEXT NOT NULL,
	trivial INTEGER NOT NULL,
	held    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE attempt ( -- requests to models; see Request
	session     TEXT NOT NULL,
	n           INTEGER NOT NULL, -- from 0, in the order of the log
	id          TEXT NOT NULL,
	started     INTEGER NOT NULL, -- nanoseconds since 1970
	model       TEXT NOT NULL,
	input       INTEGER NOT NULL,
	cache_read  INTEGER NOT NULL,
	cache_write INTEGER NOT NULL,
	output      INTEGER NOT NULL,
	reasoning   INTEGER NOT NULL,
	cost        REAL, -- US dollars; NULL if the price is unknown
	PRIMARY KEY (session, n)
) WITHOUT ROWID;
`

// Open opens the catalogue of the data directory and recreates a damaged or older one.
// Its error is a [Warning]; the Catalogue works nevertheless.
func Open(ctx context.Context, dir string) (*Catalogue, error) {
	c := &Catalogue{dir: dir}
	if err := c.open(ctx); err != nil {
		return c, c.warn(err)
	}
	return c, nil
}

// open connects to the database, with retries where SQLite does not wait itself.
func (c *Catalogue) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	for {
		db, err := connect(ctx, c.dir)
		if err == nil {
			c.db = db
			return nil
		}
		if isDamaged(err) {
			err = c.discard(ctx)
		}
		if err != nil && !isBusy(err) {
			return err
		}
		if scope.Sleep(ctx, retryDelay) != nil {
			return errors.New("other processes use it without a pause")
		}
	}
}

// connect opens the database and gives it its schema.
func connect(ctx context.Context, dir string) (*sql.DB, error) {
	if err := create(dir); err != nil {
		return nil, err
	}
	options := url.Values{"_txlock": {"immediate"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(NORMAL)",
	}}
	name := url.URL{
		Scheme:   "file",
		Opaque:   (&url.URL{Path: filepath.ToSlash(path(dir))}).EscapedPath(),
		RawQuery: options.Encode(),
	}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // a second connection could open a file that replaced ours
	if err := prepare(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// create creates the file with mode 0600, before SQLite creates it with another mode.
func create(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path(dir), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// errUnfit is damage that SQLite does not detect: the database must be recreated.
var errUnfit = errors.New("it is damaged, or of an older settle")

// prepare makes sure that the database has our schema.
func prepare(ctx context.Context, db *sql.DB) (err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	var found, tables int
	var check string
	for query, into := range map[string]any{
		"PRAGMA quick_check(1)": &check, "PRAGMA user_version": &found, "SELECT count(*) FROM sqlite_schema": &tables,
	} {
		if err := tx.QueryRowContext(ctx, query).Scan(into); err != nil {
			return err
		}
	}
	switch {
	case check != "ok":
		return errUnfit
	case found > version:
		return fmt.Errorf("a newer settle made it (version %d)", found)
	case found == 0 && tables == 0:
		if _, err := tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
			return err
		}
	case found < version:
		return errUnfit
	default:
		for _, query := range []string{
			"SELECT id, changed, words, parent, trivial, held FROM session LIMIT 1",
			"SELECT session, n, id, started, cost FROM attempt LIMIT 1",
		} {
			if _, err := tx.ExecContext(ctx, query); err != nil {
				return errors.Join(errUnfit, err)
			}
		}
	}
	return tx.Commit()
}

// discard removes a damaged database. Processes that have it open continue with the
// removed file; other processes find the same facts in the logs.
func (c *Catalogue) discard(ctx context.Context) error {
	f, err := os.OpenFile(filepath.Join(c.dir, "catalogue.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if free, err := disk.TryLock(f); err != nil || !free {
		return err // another process is replacing it: try again
	}
	if db, err := connect(ctx, c.dir); !isDamaged(err) {
		if err == nil {
			err = db.Close()
		}
		return err // another process has replaced it
	}
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(path(c.dir) + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func code(err error) int {
	if e := (*sqlite.Error)(nil); errors.As(err, &e) {
		return e.Code() & 0xff // without the extended part
	}
	return sqlite3.SQLITE_OK
}

func isDamaged(err error) bool {
	c := code(err)
	return c == sqlite3.SQLITE_NOTADB || c == sqlite3.SQLITE_CORRUPT || errors.Is(err, errUnfit)
}

func isBusy(err error) bool {
	c := code(err)
	return c == sqlite3.SQLITE_BUSY || c == sqlite3.SQLITE_LOCKED
}

// save stores and removes rows in one transaction.
func (c *Catalogue) save(ctx context.Context, changed []row, removed []string) (err error) {
	if c.db == nil || len(changed)+len(removed) == 0 {
		return nil
	}
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	for _, r := range changed {
		_, err := tx.ExecContext(
			ctx, "INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			r.Session, r.size, r.modified, r.Dir, r.Title, r.Model, string(r.Outcome), string(r.Reason), r.Running,
			r.Created.UnixNano(), r.Updated.UnixNano(), int64(r.Seq), r.Problem, r.words, r.Parent,
			r.Trivial, r.Held,
		)
		if err != nil {
			return err
		}
		if err := saveRequests(ctx, tx, r); err != nil {
			return err
		}
	}
	for _, session := range removed {
		for _, statement := range []string{
			"DELETE FROM session WHERE id = ?", "DELETE FROM attempt WHERE session = ?",
		} {
			if _, err := tx.ExecContext(ctx, statement, session); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}

// load returns all rows. It recreates a damaged database.
func (c *Catalogue) load(ctx context.Context) (map[string]row, error) {
	if c.db == nil {
		return nil, nil
	}
	known, err := c.rows(ctx)
	if !isDamaged(err) {
		return known, err
	}
	err = c.db.Close()
	c.db = nil
	if err == nil {
		err = c.open(ctx)
	}
	return nil, err
}

// rows reads the table.
func (c *Catalogue) rows(ctx context.Context) (map[string]row, error) {
	rows, err := c.db.QueryContext(ctx, `SELECT id, size, changed, dir, title, model, outcome, reason, running,
		created, updated, seq, problem, words, parent, trivial, held FROM session`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[string]row{}
	for rows.Next() {
		var r row
		var outcome, reason string
		var created, updated int64
		if err := rows.Scan(&r.Session, &r.size, &r.modified, &r.Dir, &r.Title, &r.Model, &outcome, &reason,
			&r.Running, &created, &updated, &r.Seq, &r.Problem, &r.words, &r.Parent, &r.Trivial,
			&r.Held); err != nil {
			return nil, err
		}
		r.Outcome, r.Reason = event.Outcome(outcome), event.Reason(reason)
		r.Created, r.Updated = time.Unix(0, created).UTC(), time.Unix(0, updated).UTC()
		known[r.Session] = r
	}
	return known, rows.Err()
}

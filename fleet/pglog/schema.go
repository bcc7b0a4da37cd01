package pglog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Programs and schemas of two neighbouring versions work together, so that workers can be
// replaced one after the other, and back again. A change of the schema therefore has three parts,
// each in a release of its own:
//
//	expand    a step that adds tables and columns with defaults: older programs ignore them
//	migrate   programs that use the new columns, and still work without them
//	contract  a step that removes what no supported program uses any more; raise oldestProgram
//
// The version of a program is the number of its steps.
const (
	// oldestSchema is the oldest schema that this program works with. Raise it when the
	// program needs a step; what only one command needs is for [Need].
	oldestSchema = 8
	// oldestProgram is the version of the oldest program that works with the tables of the last
	// step.
	oldestProgram = 8
)

// SchedulesVersion is the schema version that has schedules.
const SchedulesVersion = 9

// migrations are the steps from an empty schema to the present one. A step that
// was released is never changed.
func migrations() []string {
	return []string{`
CREATE TABLE settle_fleet.session (
	id      text PRIMARY KEY,
	born    date NOT NULL DEFAULT current_date,
	epoch   bigint NOT NULL DEFAULT 0,
	seq     bigint NOT NULL DEFAULT 0,
	updated timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
CREATE INDEX session_born ON settle_fleet.session (born);
CREATE TABLE settle_fleet.batch (
	born    date NOT NULL,
	session text NOT NULL,
	first   bigint NOT NULL,
	last    bigint NOT NULL,
	epoch   bigint NOT NULL,
	events  bytea NOT NULL,
	PRIMARY KEY (born, session, first)
) PARTITION BY RANGE (born);
CREATE TABLE settle_fleet.worker (
	id      text PRIMARY KEY,
	began   timestamptz NOT NULL DEFAULT now(),
	until   timestamptz NOT NULL
);
CREATE TABLE settle_fleet.unit (
	id      text PRIMARY KEY,
	session text NOT NULL,
	input   text NOT NULL,
	place   bigint GENERATED ALWAYS AS IDENTITY,
	state   text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'ended')),
	task    jsonb NOT NULL,
	attempt integer NOT NULL DEFAULT 0,
	lost    integer NOT NULL DEFAULT 0,
	epoch   bigint NOT NULL DEFAULT 0,
	worker  text,
	cancel  text,
	result  jsonb,
	created timestamptz NOT NULL DEFAULT now(),
	taken   timestamptz,
	started timestamptz,
	ended   timestamptz
) WITH (fillfactor = 70);
CREATE INDEX unit_queued ON settle_fleet.unit (place) WHERE state = 'queued';
CREATE UNIQUE INDEX unit_running ON settle_fleet.unit (session) WHERE state = 'running';
CREATE INDEX unit_worker ON settle_fleet.unit (worker) WHERE state = 'running';
CREATE INDEX unit_session ON settle_fleet.unit (session, place) WHERE state <> 'ended';
`, tenants, workspaces, rates, budgets, identity, order, outbox, schedules, heldIndexes, sessionTasks, contract}
}

// schedules has the tasks that Temporal's schedules submit.
const schedules = `
CREATE TABLE settle_fleet.schedule (
	name    text PRIMARY KEY,
	cron    text NOT NULL,
	every   interval NOT NULL,
	task    jsonb NOT NULL,
	queue   text NOT NULL,
	created timestamptz NOT NULL DEFAULT now()
);
`

// heldIndexes find the tasks that wait for a person, and the tasks with verdicts about their calls.
const heldIndexes = `
CREATE INDEX unit_held ON settle_fleet.unit (place) WHERE outcome = 'held';
CREATE INDEX unit_verdicts ON settle_fleet.unit (place) WHERE task ? 'verdicts';
`

// sessionTasks finds the first task of a session, whose tenant is the session's.
const sessionTasks = `
CREATE INDEX unit_sessions ON settle_fleet.unit (session, place);
`

// contract drops what was for the lease: programs from oldestProgram on, in which Temporal distributes the tasks, have
// never used it. Each claim of a task also wrote the index.
const contract = `
DROP TABLE settle_fleet.worker;
DROP INDEX settle_fleet.unit_worker;
ALTER TABLE settle_fleet.tenant DROP COLUMN slots, DROP COLUMN begun, DROP COLUMN next;
`

// tenants has tasks belong to one, and counts what each has had: begun is the virtual
// time at which the last task of the tenant began, and next when the next one may. A later step drops these columns.
const tenants = `
CREATE TABLE settle_fleet.tenant (
	name    text PRIMARY KEY,
	weight  double precision NOT NULL DEFAULT 1 CHECK (weight > 0),
	slots   integer CHECK (slots >= 0),
	begun   double precision NOT NULL DEFAULT 0,
	next    double precision NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
INSERT INTO settle_fleet.tenant (name) VALUES ('default');
ALTER TABLE settle_fleet.unit ADD COLUMN tenant text NOT NULL DEFAULT 'default';
DROP INDEX settle_fleet.unit_queued;
CREATE INDEX unit_queued ON settle_fleet.unit (tenant, place) WHERE state = 'queued';
`

// identity tells fleets apart, for machines that work for several.
const identity = `
ALTER TABLE settle_fleet.version ADD COLUMN fleet text NOT NULL DEFAULT gen_random_uuid()::text;
`

// order finds the tasks that were submitted last.
const order = `
CREATE INDEX unit_place ON settle_fleet.unit (place);
`

// outbox has tasks that Temporal does not know yet: outbox is when they may be sent. The
// other columns are generated from the task and its result, so that a program that does not
// know the columns keeps them right: they are for lists and counts, which then do not read
// tasks and results. Tasks from before are sent to Temporal.
const outbox = `
ALTER TABLE settle_fleet.unit
	ADD COLUMN queue    text NOT NULL DEFAULT 'settle',
	ADD COLUMN outbox   timestamptz DEFAULT now(),
	ADD COLUMN batch    text NOT NULL GENERATED ALWAYS AS (coalesce(task ->> 'batch', '')) STORED,
	ADD COLUMN outcome  text NOT NULL GENERATED ALWAYS AS (coalesce(result ->> 'outcome', '')) STORED,
	ADD COLUMN tokens   bigint NOT NULL GENERATED ALWAYS AS (
		coalesce((result #>> '{summary,usage,input_tokens}')::bigint, 0)
		+ coalesce((result #>> '{summary,usage,output_tokens}')::bigint, 0)) STORED,
	ADD COLUMN usd      double precision NOT NULL GENERATED ALWAYS AS (
		coalesce((result #>> '{summary,cost_usd}')::float8, 0)) STORED,
	ADD COLUMN unpriced integer NOT NULL GENERATED ALWAYS AS (
		coalesce((result #>> '{summary,unpriced}')::int, 0)) STORED;
UPDATE settle_fleet.unit SET outbox = NULL WHERE state = 'ended';
CREATE INDEX unit_outbox ON settle_fleet.unit (outbox) WHERE outbox IS NOT NULL;
CREATE INDEX unit_tally ON settle_fleet.unit (tenant, batch, state, outcome) INCLUDE (lost, tokens, usd, unpriced);
CREATE INDEX unit_batch ON settle_fleet.unit (batch, place) WHERE batch <> '';
CREATE INDEX unit_open ON settle_fleet.unit (place) WHERE state <> 'ended';
CREATE INDEX unit_ended ON settle_fleet.unit (ended) WHERE state = 'ended';
CREATE INDEX unit_created ON settle_fleet.unit (created);
DROP INDEX settle_fleet.unit_queued;
`

// workspaces has a session's workspace, and a task's checkpoint with the chunks of its
// bundle.
const workspaces = `
CREATE TABLE settle_fleet.workspace (
	session  text PRIMARY KEY REFERENCES settle_fleet.session ON DELETE CASCADE,
	repo     text NOT NULL,
	ref      text NOT NULL,
	base     text NOT NULL,
	branch   text NOT NULL,
	instance text NOT NULL,
	made     timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE settle_fleet.checkpoint (
	unit    text PRIMARY KEY,
	session text NOT NULL REFERENCES settle_fleet.session ON DELETE CASCADE,
	epoch   bigint NOT NULL,
	bundle  text NOT NULL,
	detail  jsonb NOT NULL
);
CREATE INDEX checkpoint_session ON settle_fleet.checkpoint (session, epoch);
CREATE TABLE settle_fleet.chunk (
	bundle  text NOT NULL,
	n       integer NOT NULL,
	session text NOT NULL REFERENCES settle_fleet.session ON DELETE CASCADE,
	data    bytea NOT NULL,
	PRIMARY KEY (bundle, n)
);
ALTER TABLE settle_fleet.chunk ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX chunk_session ON settle_fleet.chunk (session);
`

// partitionsAhead is the number of coming days that have their partition.
const partitionsAhead = 7

// migrationLock keeps two programs from migrating at the same time.
const migrationLock = 0x5e771e

// Migrate brings the schema to the present version and makes the partitions of
// the days to come. It may run while workers do, and gives way to them while it waits for a table. A newer schema that
// this program works with stays as it is: then from is greater than to.
func Migrate(ctx context.Context, pool *pgxpool.Pool) (from, to int, err error) {
	err = withLockRetries(ctx, pool, migrationLock, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS settle_fleet;
			CREATE TABLE IF NOT EXISTS settle_fleet.version (
				one boolean PRIMARY KEY DEFAULT true CHECK (one), version integer NOT NULL);
			ALTER TABLE settle_fleet.version ADD COLUMN IF NOT EXISTS oldest integer`); err != nil {
			return err
		}
		var oldest int
		if from, oldest, err = version(ctx, tx); err != nil {
			return err
		}
		steps := migrations()
		switch to = len(steps); {
		case from > to && oldest > to:
			return &VersionError{Found: from, Known: to, Oldest: oldest}
		case from > to:
			return makePartitions(ctx, tx)
		}
		for _, step := range steps[from:] {
			if _, err := tx.Exec(ctx, step); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(
			ctx,
			`INSERT INTO settle_fleet.version (version, oldest) VALUES ($1, $2)
			ON CONFLICT (one) DO UPDATE SET version = excluded.version, oldest = excluded.oldest`,
			to,
			oldestProgram,
		); err != nil {
			return err
		}
		return makePartitions(ctx, tx)
	})
	if err != nil {
		return from, to, fmt.Errorf("cannot migrate the database: %w", err)
	}
	return from, to, nil
}

// VersionError reports that the database's schema does not match this program.
type VersionError struct {
	// Found is the schema's number, and Known the one that this program knows or needs.
	Found, Known int
	// Oldest is the number of the oldest program that works with the schema, if that is newer
	// than this one. settle-fleet --version prints the number of a program.
	Oldest int
}

func (e *VersionError) Error() string {
	if e.Found > e.Known {
		return fmt.Sprintf(
			"a newer settle-fleet made the database's schema (number %d, for programs with schema number %d and "+
				"later; this one has %d); nothing was changed; use the newer settle-fleet, "+
				"or restore the backup from before its migrate", e.Found, e.Oldest, e.Known,
		)
	}
	return fmt.Sprintf(
		"the database's schema has number %d, and this settle-fleet needs %d; run settle-fleet migrate", e.Found,
		e.Known,
	)
}

// querier is a pool, a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// version returns the schema's, 0 where there is none, and the version of the oldest program that
// works with it. Schemas of before this number are only for programs that know them.
func version(ctx context.Context, q querier) (n, oldest int, err error) {
	err = q.QueryRow(
		ctx, `SELECT version, coalesce((to_jsonb(v) ->> 'oldest')::int, version) FROM settle_fleet.version v`,
	).Scan(&n, &oldest)
	pgErr := (*pgconn.PgError)(nil)
	if errors.Is(err, pgx.ErrNoRows) || errors.As(err, &pgErr) && pgErr.Code == "42P01" { // undefined_table
		return 0, 0, nil
	}
	return n, oldest, err
}

// SchemaNumber returns the number of the newest schema that this program knows: that of its steps.
func SchemaNumber() int { return len(migrations()) }

// Check refuses a database whose schema this program does not work with.
func Check(ctx context.Context, pool *pgxpool.Pool) error { return Need(ctx, pool, oldestSchema) }

// Need is [Check] with a minimum version of the schema: the error says to run migrate.
func Need(ctx context.Context, pool *pgxpool.Pool, minVersion int) error {
	found, oldest, err := version(ctx, pool)
	if err != nil {
		return fmt.Errorf("cannot read the version of the database's schema: %w", err)
	}
	known := len(migrations())
	switch {
	case found < minVersion:
		return &VersionError{Found: found, Known: minVersion}
	case found > known && oldest > known:
		return &VersionError{Found: found, Known: known, Oldest: oldest}
	}
	return nil
}

// makePartitions creates the partitions of today and of the coming days.
func makePartitions(ctx context.Context, q querier) error {
	var today time.Time
	if err := q.QueryRow(ctx, `SELECT current_date`).Scan(&today); err != nil {
		return err
	}
	for n := range partitionsAhead + 1 {
		if err := makePartition(ctx, q, today.AddDate(0, 0, n)); err != nil {
			return err
		}
	}
	return nil
}

// makePartition creates the partition of a day, if it is missing: that locks the table.
func makePartition(ctx context.Context, q querier, day time.Time) error {
	var exists bool
	err := q.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, partition(day)).Scan(&exists)
	if err != nil || exists {
		return err
	}
	_, err = q.Exec(
		ctx,
		fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s PARTITION OF settle_fleet.batch FOR VALUES FROM ('%s') TO ('%s')`,
			partition(day), day.Format(time.DateOnly), day.AddDate(0, 0, 1).Format(time.DateOnly)),
	)
	return err
}

// Identity returns the name of the fleet that the database is of.
func Identity(ctx context.Context, pool *pgxpool.Pool) (name string, err error) {
	if err = pool.QueryRow(ctx, `SELECT fleet FROM settle_fleet.version`).Scan(&name); err != nil {
		return "", fmt.Errorf("cannot find the fleet's name in the database: %w", err)
	}
	return name, nil
}

// partition is the table of a day's sessions.
func partition(day time.Time) string { return "settle_fleet.batch_" + day.Format("20060102") }

// rates bounds the requests to providers, and keeps a bucket for each of their keys.
const rates = `
CREATE TABLE settle_fleet.rate (
	provider text PRIMARY KEY,
	requests double precision,
	tokens   double precision
);
CREATE TABLE settle_fleet.key (
	id       text PRIMARY KEY,
	provider text NOT NULL,
	requests double precision NOT NULL DEFAULT 1,
	tokens   double precision NOT NULL DEFAULT 1e9,
	mean     double precision NOT NULL DEFAULT 0,
	at       timestamptz NOT NULL DEFAULT now(),
	held     timestamptz
) WITH (fillfactor = 50);
`

// budgets has the budgets of batches, and the usage of their tasks.
const budgets = `
CREATE TABLE settle_fleet.budget (
	batch        text PRIMARY KEY,
	tokens       bigint NOT NULL,
	usd          double precision NOT NULL,
	spent_tokens bigint NOT NULL DEFAULT 0,
	spent_usd    double precision NOT NULL DEFAULT 0,
	unpriced     integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE TABLE settle_fleet.spend (
	unit     text PRIMARY KEY,
	batch    text NOT NULL,
	tokens   bigint NOT NULL,
	usd      double precision NOT NULL,
	unpriced integer NOT NULL
) WITH (fillfactor = 70);
`

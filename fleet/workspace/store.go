package workspace

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle/fleet"
)

// Store reads and writes workspaces and checkpoints in a database that was migrated.
type Store struct{ Pool *pgxpool.Pool }

// record is the database's record of a session's workspace.
type record struct {
	repo, ref, base, branch, instance string
	checkpoint                        *fleet.Checkpoint // nil if there is none
	bundle                            string
}

// find returns the record of a session's workspace; nil if there is none yet.
func (s Store) find(ctx context.Context, session string) (*record, error) {
	var k record
	err := s.Pool.QueryRow(ctx, `SELECT w.repo, w.ref, w.base, w.branch, w.instance, c.detail, coalesce(c.bundle, '') FROM settle_fleet.workspace w
		LEFT JOIN settle_fleet.checkpoint c ON c.session = w.session WHERE w.session = $1 ORDER BY c.epoch DESC NULLS LAST LIMIT 1`, session).
		Scan(&k.repo, &k.ref, &k.base, &k.branch, &k.instance, &k.checkpoint, &k.bundle)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("cannot find the workspace of session %q: %w", session, err)
	}
	return &k, nil
}

// setInstance stores the record of a new instance of the session's workspace.
func (s Store) setInstance(ctx context.Context, a fleet.Attempt, k record) error {
	tag, err := s.Pool.Exec(ctx, `INSERT INTO settle_fleet.workspace (session, repo, ref, base, branch, instance)
		SELECT id, $3, $4, $5, $6, $7 FROM settle_fleet.session WHERE id = $1 AND epoch = $2 FOR NO KEY UPDATE
		ON CONFLICT (session) DO UPDATE SET instance = excluded.instance, made = now()`,
		a.Task.Session, a.Epoch, k.repo, k.ref, k.base, k.branch, k.instance)
	if err != nil {
		return fmt.Errorf("cannot store the workspace: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fleet.ErrLost
	}
	return nil
}

// put stores a checkpoint with its bundle, and replaces the task's earlier one. It is
// refused if another worker has the session.
func (s Store) put(ctx context.Context, a fleet.Attempt, c fleet.Checkpoint, data []byte) error {
	bundle := rand.Text()
	detail, err := json.Marshal(c)
	if err != nil {
		return err
	}
	for n := 0; len(data) > 0; n++ { // each in a transaction of its own, so that appends to logs continue
		piece := data[:min(len(data), pieceBytes)]
		data = data[len(piece):]
		if _, err = s.Pool.Exec(
			ctx,
			`INSERT INTO settle_fleet.chunk (bundle, n, session, data) VALUES ($1, $2, $3, $4)`,
			bundle,
			n,
			a.Task.Session,
			piece,
		); err != nil {
			return fmt.Errorf("cannot store the checkpoint: %w", err)
		}
	}
	var replaced *string
	err = s.Pool.QueryRow(ctx, `WITH s AS (
			SELECT id FROM settle_fleet.session WHERE id = $2 AND epoch = $3 FOR NO KEY UPDATE
		), old AS (
			SELECT bundle FROM settle_fleet.checkpoint WHERE unit = $1
		), c AS (
			INSERT INTO settle_fleet.checkpoint (unit, session, epoch, bundle, detail) SELECT $1, id, $3, $4, $5 FROM s
			ON CONFLICT (unit) DO UPDATE SET epoch = excluded.epoch, bundle = excluded.bundle, detail = excluded.detail RETURNING unit
		)
		SELECT (SELECT bundle FROM old) FROM c`, a.TaskID, a.Task.Session, a.Epoch, bundle, detail).Scan(&replaced)
	unused := replaced
	if errors.Is(err, pgx.ErrNoRows) {
		err, unused = fleet.ErrLost, &bundle
	}
	if unused != nil {
		_, _ = s.Pool.Exec(
			ctx,
			`DELETE FROM settle_fleet.chunk WHERE bundle = $1`,
			*unused,
		) // else it goes with the session
	}
	if err != nil && !errors.Is(err, fleet.ErrLost) {
		return fmt.Errorf("cannot store the checkpoint: %w", err)
	}
	return err
}

// NoCheckpointError reports that a task has no checkpoint.
type NoCheckpointError struct{ TaskID string }

func (e *NoCheckpointError) Error() string { return fmt.Sprintf("task %q has no checkpoint", e.TaskID) }

// Get returns the checkpoint of a task, and writes its bundle.
func (s Store) Get(ctx context.Context, taskID string, to io.Writer) (c fleet.Checkpoint, err error) {
	var bundle string
	err = s.Pool.QueryRow(ctx, `SELECT detail, bundle FROM settle_fleet.checkpoint WHERE unit = $1`, taskID).
		Scan(&c, &bundle)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, &NoCheckpointError{TaskID: taskID}
	}
	if err != nil {
		return c, fmt.Errorf("cannot find the checkpoint of task %q: %w", taskID, err)
	}
	size, err := s.read(ctx, bundle, to)
	if err == nil && size != c.Bytes {
		err = fmt.Errorf("it has %d of %d bytes", size, c.Bytes)
	}
	if err != nil {
		return c, fmt.Errorf("cannot read the checkpoint of task %q: %w", taskID, err)
	}
	return c, nil
}

// read writes a bundle.
func (s Store) read(ctx context.Context, bundle string, to io.Writer) (size int64, err error) {
	for n := 0; ; n++ {
		var data []byte
		err := s.Pool.QueryRow(ctx, `SELECT data FROM settle_fleet.chunk WHERE bundle = $1 AND n = $2`, bundle, n).
			Scan(&data)
		if errors.Is(err, pgx.ErrNoRows) {
			return size, nil
		}
		if err != nil {
			return size, err
		}
		if _, err := to.Write(data); err != nil {
			return size, err
		}
		size += int64(len(data))
	}
}

// deletedSessions returns which of the sessions the database does not know any more.
func (s Store) deletedSessions(ctx context.Context, sessions []string) (out []string, err error) {
	err = s.Pool.QueryRow(ctx, `SELECT coalesce(array_agg(n), '{}') FROM unnest($1::text[]) AS n
		WHERE NOT EXISTS (SELECT FROM settle_fleet.session WHERE id = n)`, sessions).Scan(&out)
	if err != nil {
		return nil, fmt.Errorf("cannot find which sessions are gone: %w", err)
	}
	return out, nil
}

package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle/fleet"
)

// maxEndings bounds how many attempts end in one transaction.
const maxEndings = 200

// ending is an attempt that ends.
type ending struct {
	unit   string
	epoch  int64
	seq    int64
	result *string
	done   chan error // has room for one
}

// endings ends the attempts that have ended meanwhile in one transaction.
type endings struct {
	pool *pgxpool.Pool
	kick chan struct{} // holds one token when there may be any

	mu      sync.Mutex
	waiting []ending
}

func newEndings(pool *pgxpool.Pool) *endings {
	return &endings{pool: pool, kick: make(chan struct{}, 1)}
}

// Complete implements [fleet.Engine]. A result counts only if the log has the end
// that it tells of.
func (e *Engine) Complete(ctx context.Context, a fleet.Attempt, r *fleet.Result) error {
	end := ending{unit: a.Unit, epoch: a.Epoch, done: make(chan error, 1)}
	if r != nil {
		raw, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("cannot encode the result of unit %s: %w", a.Unit, err)
		}
		text := storable(raw)
		end.result, end.seq = &text, int64(r.Seq)
	}
	e.endings.add(end)
	select {
	case err := <-end.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("cannot tell whether unit %s has ended: %w", a.Unit, context.Cause(ctx))
	}
}

// storable returns JSON that Postgres stores as jsonb: it refuses a NUL, which models and
// servers may send. The log has the text as it was.
func storable(raw []byte) string {
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

func (e *endings) add(end ending) {
	e.mu.Lock()
	e.waiting = append(e.waiting, end)
	e.mu.Unlock()
	select {
	case e.kick <- struct{}{}:
	default:
	}
}

func (e *endings) take() []ending {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(e.waiting), maxEndings)
	group := e.waiting[:n:n]
	e.waiting = e.waiting[n:]
	return group
}

var errEngineClosed = errors.New("the engine is closed")

// run ends attempts until ctx does.
func (e *endings) run(ctx context.Context) {
	for {
		select {
		case <-e.kick:
		case <-ctx.Done():
			for group := e.take(); len(group) > 0; group = e.take() {
				for _, end := range group {
					end.done <- errEngineClosed
				}
			}
			return
		}
		for group := e.take(); len(group) > 0; group = e.take() {
			e.write(ctx, group)
		}
	}
}

// endAll ends the units, or gives them back, whose attempt is the last one and
// whose log has what the result says.
const endAll = `
WITH e AS (
	SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[]) AS e (id, epoch, seq, result)
), done AS (
	UPDATE settle_fleet.unit u SET
		state = CASE WHEN e.result IS NULL THEN 'queued' ELSE 'ended' END,
		result = e.result::jsonb,
		ended = CASE WHEN e.result IS NULL THEN NULL ELSE now() END
	FROM e JOIN settle_fleet.session s ON s.epoch = e.epoch AND s.seq >= e.seq
	WHERE u.id = e.id AND u.epoch = e.epoch AND u.state = 'running' AND s.id = u.session
	RETURNING u.id, u.state
), told AS (SELECT pg_notify($5, '') FROM done WHERE state = 'queued' LIMIT 1)
SELECT id FROM done LEFT JOIN told ON true`

func (e *endings) write(ctx context.Context, group []ending) {
	n := len(group)
	ids, epochs, seqs, results := make([]string, n), make([]int64, n), make([]int64, n), make([]*string, n)
	for i, end := range group {
		ids[i], epochs[i], seqs[i], results[i] = end.unit, end.epoch, end.seq, end.result
	}
	ended := map[string]bool{}
	rows, err := e.pool.Query(ctx, endAll, ids, epochs, seqs, results, unitChannel)
	if err == nil {
		var id string
		_, err = pgx.ForEachRow(rows, []any{&id}, func() error { ended[id] = true; return nil })
	}
	for _, end := range group {
		switch {
		case err != nil:
			end.done <- fmt.Errorf("cannot end unit %s: %w", end.unit, err)
		case !ended[end.unit]:
			end.done <- fleet.ErrLost
		default:
			end.done <- nil
		}
	}
}

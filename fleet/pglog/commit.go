package pglog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// maxGrouped is the maximum number of appends in one transaction, which also bounds the length of
	// the notification; maxBytes is the maximum size of their events.
	maxGrouped = 48
	maxBytes   = 4 << 20
	// retryDelay is the wait of a committer after a failure of the database.
	retryDelay = 100 * time.Millisecond
)

// addition is an append that waits for its commit.
type addition struct {
	session        string
	epoch          int64
	first, last    int64
	events         []byte
	deadline       time.Time
	maybeCommitted bool // a failed transaction of it may have been committed
	done           chan error
}

// committer commits all waiting appends in one transaction; appends that arrive
// meanwhile wait for the next one.
type committer struct {
	pool *pgxpool.Pool
	kick chan struct{} // holds one token when there may be something to commit

	mu      sync.Mutex
	waiting []*addition
	commits int64
}

func newCommitter(pool *pgxpool.Pool) *committer {
	return &committer{pool: pool, kick: make(chan struct{}, 1)}
}

// commit queues the append and waits for its commit.
func (c *committer) commit(a *addition) error {
	a.done = make(chan error, 1)
	c.mu.Lock()
	c.waiting = append(c.waiting, a)
	c.mu.Unlock()
	c.wake()
	return <-a.done // by run, at the latest at its deadline or when that ends
}

func (c *committer) wake() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// take removes the next group of appends from the queue.
func (c *committer) take() []*addition {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, bytes := 0, 0
	for n < len(c.waiting) && n < maxGrouped && bytes < maxBytes {
		bytes += len(c.waiting[n].events)
		n++
	}
	group := c.waiting[:n:n]
	c.waiting = c.waiting[n:]
	if len(c.waiting) > 0 {
		c.wake() // for another of the committer's goroutines
	}
	return group
}

// run commits until ctx ends.
func (c *committer) run(ctx context.Context) {
	for {
		select {
		case <-c.kick:
		case <-ctx.Done():
			for group := c.take(); len(group) > 0; group = c.take() {
				failAll(group, errClosed)
			}
			return
		}
		if group := c.take(); len(group) > 0 {
			c.write(ctx, group)
		}
	}
}

var errClosed = errors.New("the log's connection to the database is closed")

// write commits the group, and repeats that if the database fails, until each append is
// committed or refused, or its deadline has passed.
func (c *committer) write(ctx context.Context, group []*addition) {
	for len(group) > 0 {
		stored, err := c.try(ctx, group)
		if err == nil {
			c.answer(ctx, group, stored)
			return
		}
		var expired, retries []*addition
		for _, a := range group {
			a.maybeCommitted = true
			if time.Now().After(a.deadline) || ctx.Err() != nil {
				expired = append(expired, a)
			} else {
				retries = append(retries, a)
			}
		}
		failAll(expired, fmt.Errorf("cannot append to the log in the database: %w", err))
		if group = retries; len(group) > 0 {
			select {
			case <-time.After(retryDelay):
			case <-ctx.Done():
			}
		}
	}
}

func failAll(group []*addition, err error) {
	for _, a := range group {
		a.done <- err // has room
	}
}

// appendAll stores the batches whose writers have their session's epoch and its
// end, and notifies readers, in one transaction.
const appendAll = `
WITH b AS (
	SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[]) AS b (session, epoch, first, last, events)
), ok AS (
	UPDATE settle_fleet.session s SET seq = b.last, updated = now() FROM b
	WHERE s.id = b.session AND s.epoch = b.epoch AND s.seq = b.first - 1
	RETURNING s.id, s.born, b.first, b.last, b.epoch, b.events
), stored AS (
	INSERT INTO settle_fleet.batch (born, session, first, last, epoch, events) SELECT born, id, first, last, epoch, events FROM ok
)
SELECT coalesce(array_agg(id), '{}'), array_agg(epoch), pg_notify('settle_fleet_log', string_agg(id, ' ')) FROM ok`

// writerKey identifies a writer: its session and fencing epoch.
type writerKey struct {
	session string
	epoch   int64
}

// try commits the group once, and returns the writers whose appends were stored.
func (c *committer) try(ctx context.Context, group []*addition) (map[writerKey]bool, error) {
	n := len(group)
	sessions, epochs, firsts, lasts, events := make([]string, n), make([]int64, n), make([]int64, n), make(
		[]int64,
		n,
	), make([][]byte, n)
	deadline := group[0].deadline
	for i, a := range group {
		sessions[i], epochs[i], firsts[i], lasts[i], events[i] = a.session, a.epoch, a.first, a.last, a.events
		if a.deadline.Before(deadline) {
			deadline = a.deadline
		}
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	var ids []string
	var storedEpochs []int64
	var notified any
	if err := c.pool.QueryRow(ctx, appendAll, sessions, epochs, firsts, lasts, events).
		Scan(&ids, &storedEpochs, &notified); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.commits++
	c.mu.Unlock()
	stored := make(map[writerKey]bool, len(ids))
	for i, id := range ids {
		stored[writerKey{id, storedEpochs[i]}] = true
	}
	return stored, nil
}

// answer sends each append of the group its error, nil if it was stored.
func (c *committer) answer(ctx context.Context, group []*addition, stored map[writerKey]bool) {
	for _, a := range group {
		switch {
		case stored[writerKey{a.session, a.epoch}]:
			a.done <- nil
		case a.maybeCommitted:
			a.done <- c.checkCommitted(ctx, a)
		default:
			a.done <- c.refusal(ctx, a)
		}
	}
}

// checkCommitted returns nil if an append is in the log, which could not be stored now: an earlier
// transaction of it, whose result was lost, may have been committed.
func (c *committer) checkCommitted(ctx context.Context, a *addition) error {
	var exists bool
	err := c.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM settle_fleet.batch b JOIN settle_fleet.session s ON s.id = b.session AND s.born = b.born
		WHERE b.session = $1 AND b.first = $2 AND b.last = $3 AND b.epoch = $4)`, a.session, a.first, a.last, a.epoch).
		Scan(&exists)
	if err != nil {
		return fmt.Errorf("cannot check whether the log in the database has the append: %w", err)
	}
	if exists {
		return nil
	}
	return c.refusal(ctx, a)
}

// refusal returns the reason for which an append was not stored.
func (c *committer) refusal(ctx context.Context, a *addition) error {
	var epoch, seq int64
	err := c.pool.QueryRow(ctx, `SELECT epoch, seq FROM settle_fleet.session WHERE id = $1`, a.session).
		Scan(&epoch, &seq)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("there is no session %q in the database any more", a.session)
	case err != nil:
		return fmt.Errorf("cannot append to the log in the database: %w", err)
	case epoch != a.epoch:
		return &FencedError{Session: a.session, Epoch: a.epoch, Now: epoch}
	}
	return fmt.Errorf("cannot append event %d to the log of session %q: its end is event %d", a.first, a.session, seq)
}

// FencedError refuses an append of a worker whose session another worker has taken over.
type FencedError struct {
	Session    string
	Epoch, Now int64
}

func (e *FencedError) Error() string {
	return fmt.Sprintf(
		"another worker has taken session %s over (epoch %d; this one has %d): nothing more can be written", e.Session,
		e.Now, e.Epoch,
	)
}

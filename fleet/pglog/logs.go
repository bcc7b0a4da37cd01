package pglog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
)

const (
	// committers is the number of transactions of each durability that run at a time.
	committers = 2
	// appendTimeout bounds how long an append waits for a database that fails.
	appendTimeout = 30 * time.Second
	// pageRows is the number of batches that a reader fetches at a time.
	pageRows = 256
)

// Logs reads and writes the logs in a database. Its methods may be called by several goroutines.
type Logs struct {
	pool, lazyPool                  *pgxpool.Pool
	lazyCommitter, durableCommitter *committer
	hub                             *hub
	stop                            context.CancelFunc
	loops                           sync.WaitGroup

	mu     sync.Mutex
	grants map[string]int64 // epochs for the next openings, by session
	states states
}

// Connect returns a pool of connections to the database that the URL leads to. Its
// statements are not compiled: they are short, and where the tables have no statistics
// yet, Postgres takes 50 ms for compiling the one that claims a task, each time.
func Connect(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.RuntimeParams["jit"] = "off"
	return pgxpool.NewWithConfig(ctx, config)
}

// Open returns the logs in the pool's database. The caller closes them, before the
// pool.
func Open(ctx context.Context, pool *pgxpool.Pool) (*Logs, error) {
	if err := Check(ctx, pool); err != nil {
		return nil, err
	}
	config := pool.Config()
	config.MaxConns, config.MinConns = committers, 0
	config.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	lazyPool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the database: %w", err)
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &Logs{
		pool:             pool,
		lazyPool:         lazyPool,
		stop:             stop,
		grants:           map[string]int64{},
		lazyCommitter:    newCommitter(lazyPool),
		durableCommitter: newCommitter(pool),
		hub:              newHub(pool.Config().ConnConfig),
	}
	for range committers {
		l.loops.Go(func() { l.lazyCommitter.run(life) })
		l.loops.Go(func() { l.durableCommitter.run(life) })
	}
	l.loops.Go(func() { l.hub.run(life) })
	l.loops.Go(func() { keepPartitions(life, pool) })
	return l, nil
}

// partitionDelay is the wait between two checks whether the coming days have their
// partitions.
const partitionDelay = time.Hour

// keepPartitions makes the partitions of the days to come until ctx ends. Where the
// user may not, settle-fleet migrate does, once in a week or more often.
func keepPartitions(ctx context.Context, pool *pgxpool.Pool) {
	for {
		_ = withLockRetries(
			ctx, pool, 0, func(tx pgx.Tx) error { return makePartitions(ctx, tx) },
		) // another hour is soon enough
		select {
		case <-time.After(partitionDelay):
		case <-ctx.Done():
			return
		}
	}
}

// Close ends the goroutines of the logs. Sessions must be closed before.
func (l *Logs) Close() {
	l.stop()
	l.loops.Wait()
	l.lazyPool.Close()
}

// Commits returns how many transactions have stored appends so far.
func (l *Logs) Commits() (n int64) {
	for _, c := range []*committer{l.lazyCommitter, l.durableCommitter} {
		c.mu.Lock()
		n += c.commits
		c.mu.Unlock()
	}
	return n
}

// Grant has the next opening of the session use an epoch that was taken for it,
// such as by an attempt at a task.
func (l *Logs) Grant(session string, epoch int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grants[session] = epoch
}

// OpenLog implements [settle.Logs]. Without a [Logs.Grant] it takes the session's
// next epoch.
func (l *Logs) OpenLog(ctx context.Context, session string) (settle.Log, error) {
	l.mu.Lock()
	epoch, hasGrant := l.grants[session]
	delete(l.grants, session)
	l.mu.Unlock()
	o := &sessionLog{logs: l, session: session, epoch: epoch}
	o.end.Store(math.MaxInt64) // unknown
	if !hasGrant {
		batch := &pgx.Batch{} // one transaction; a new session begins with the epoch that recover has left
		batch.Queue(`INSERT INTO settle_fleet.session (id) VALUES ($1) ON CONFLICT (id) DO NOTHING`, session)
		batch.Queue(`UPDATE settle_fleet.session SET epoch = epoch + 1 WHERE id = $1 RETURNING epoch, born`, session).
			QueryRow(func(row pgx.Row) error { return row.Scan(&o.epoch, &o.born) })
		if err := l.pool.SendBatch(ctx, batch).Close(); err != nil {
			return nil, fmt.Errorf("cannot take the session over in the database: %w", err)
		}
		return o, nil
	}
	var now, seq int64
	err := l.pool.QueryRow(ctx, `SELECT epoch, born, seq FROM settle_fleet.session WHERE id = $1`, session).
		Scan(&now, &o.born, &seq)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot find the session in the database: %w", err)
	case now != epoch:
		return nil, &FencedError{Session: session, Epoch: epoch, Now: now}
	}
	o.end.Store(seq) // no other writer can append to it now
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.states.take(session); k.continues(o, seq) {
		o.initialState = k.state
		o.bytes.Store(k.bytes)
	}
	return o, nil
}

// sessionLog is the log of one session, as it was opened.
type sessionLog struct {
	logs    *Logs
	session string
	epoch   int64
	born    time.Time
	// end is the number of the last event, including events whose append is not committed yet.
	end atomic.Int64
	// initialState is the state of the log when it was opened, until the session takes it; bytes is the size of the
	// log in bytes, once the session has read it.
	initialState event.State
	opened       atomic.Bool
	bytes        atomic.Int64
}

// Epoch implements [settle.EpochLog].
func (o *sessionLog) Epoch() uint64 { return uint64(o.epoch) } // it counts from 1

// Append implements [settle.Log].
func (o *sessionLog) Append(events []event.Event, d settle.Durability) error {
	if len(events) == 0 {
		return nil
	}
	var lines []byte
	for _, e := range events {
		var err error
		if lines, err = e.AppendJSON(lines); err != nil {
			return fmt.Errorf("cannot encode event %d: %w", e.Seq, err)
		}
		lines = append(lines, '\n')
	}
	o.end.Store(int64(events[len(events)-1].Seq)) // it counts from 1
	o.bytes.Add(int64(len(lines)))
	c := o.logs.durableCommitter
	if d == settle.Lazily || closes(events) {
		c = o.logs.lazyCommitter
	}
	return c.commit(&addition{
		session:  o.session,
		epoch:    o.epoch,
		first:    int64(events[0].Seq),
		last:     int64(events[len(events)-1].Seq),
		events:   lines,
		deadline: time.Now().Add(appendTimeout),
	})
}

// closes reports whether the events only close the session. Their commit need not wait for the disk: the
// commit of the task's result follows, and is on the disk only with what was committed before. If the
// database crashes before that, the next worker finds a session whose host died between two turns.
func closes(events []event.Event) bool {
	return len(events) == 1 && events[0].Kind() == event.KindSessionClosed
}

// Read implements [settle.Log].
func (o *sessionLog) Read(ctx context.Context, cursor uint64) iter.Seq2[event.Event, error] {
	if int64(cursor) >= o.end.Load() { // it counts events
		return func(func(event.Event, error) bool) {} // a question less for each new session
	}
	size := func(int) {}
	if !o.opened.Swap(true) {
		size = func(n int) { o.bytes.Add(int64(n)) }
	}
	return o.logs.read(ctx, o.session, o.born, cursor, size)
}

// Close implements [settle.Log].
func (o *sessionLog) Close() error { return nil }

// Read yields the events of a session after the cursor, up to the present end of the
// log. The session keeps its epoch. A session that does not exist is an [fs.ErrNotExist].
func (l *Logs) Read(ctx context.Context, session string, cursor uint64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		born, err := l.sessionDay(ctx, session)
		if err != nil {
			yield(event.Event{}, err)
			return
		}
		l.read(ctx, session, born, cursor, func(int) {})(yield)
	}
}

// sessionDay returns the day on which a session began, which has its partition.
func (l *Logs) sessionDay(ctx context.Context, session string) (born time.Time, err error) {
	err = l.pool.QueryRow(ctx, `SELECT born FROM settle_fleet.session WHERE id = $1`, session).Scan(&born)
	if errors.Is(err, pgx.ErrNoRows) {
		return born, &MissingError{Session: session}
	}
	if err != nil {
		return born, fmt.Errorf("cannot find the session in the database: %w", err)
	}
	return born, nil
}

// read yields the events of the batches, page by page, and reports the sizes of the batches.
func (l *Logs) read(
	ctx context.Context, session string, born time.Time, cursor uint64, size func(int),
) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		after := cursor // an iterator may be used again
		var decoder event.Decoder
		for {
			batches, err := l.page(ctx, session, born, after)
			if err != nil {
				if ctx.Err() == nil {
					yield(event.Event{}, err)
				}
				return
			}
			for _, batch := range batches {
				size(len(batch))
				for line := range bytes.Lines(batch) {
					e, err := decoder.Decode(bytes.TrimSuffix(line, []byte{'\n'}))
					switch {
					case err != nil:
						yield(
							event.Event{},
							fmt.Errorf("cannot read what follows event %d of session %q: %w", after, session, err),
						)
						return
					case e.Seq <= after:
						continue
					case e.Seq != after+1:
						yield(
							event.Event{},
							fmt.Errorf("the log of session %q has event %d after event %d", session, e.Seq, after),
						)
						return
					case !yield(e, nil):
						return
					}
					after = e.Seq
				}
			}
			if len(batches) < pageRows {
				return
			}
		}
	}
}

func (l *Logs) page(ctx context.Context, session string, born time.Time, after uint64) ([][]byte, error) {
	// The batch that has the cursor is the last of those that begin before it.
	rows, err := l.pool.Query(ctx, `SELECT events FROM settle_fleet.batch WHERE born = $1 AND session = $2 AND last > $3
		AND first >= coalesce((SELECT max(first) FROM settle_fleet.batch WHERE born = $1 AND session = $2 AND first <= $3), 0)
		ORDER BY first LIMIT $4`, born, session, int64(after), pageRows)
	if err == nil {
		var batches [][]byte
		if batches, err = pgx.CollectRows(rows, pgx.RowTo[[]byte]); err == nil {
			return batches, nil
		}
	}
	return nil, fmt.Errorf("cannot read the log of session %q: %w", session, err)
}

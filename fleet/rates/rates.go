package rates

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle/fleet/pgnotify"
	"github.com/settle-agent/settle/model"
)

// channel is notified when limits have changed, without a payload, and when a key is
// held: the key and for how many seconds.
const channel = "settle_fleet_rate"

// Limit bounds the requests to a provider with each key.
type Limit struct {
	Provider string `json:"provider"`
	// Requests and Tokens are maximum numbers per minute; 0 is no limit. Tokens counts
	// input and output tokens.
	Requests float64 `json:"requests_per_minute,omitempty"`
	Tokens   float64 `json:"tokens_per_minute,omitempty"`
}

// Set sets the limits of a provider.
func Set(ctx context.Context, pool *pgxpool.Pool, l Limit) error {
	for _, n := range []float64{l.Requests, l.Tokens} {
		if !(n >= 0) || math.IsInf(n, 1) { // as NaN is
			return errors.New("a limit must be a number that is not below zero")
		}
	}
	if l.Provider == "" {
		return errors.New("a limit has the name of a provider")
	}
	_, err := pool.Exec(ctx, `WITH r AS (
		INSERT INTO settle_fleet.rate (provider, requests, tokens) VALUES ($1, nullif($2::float8, 0), nullif($3::float8, 0))
		ON CONFLICT (provider) DO UPDATE SET requests = excluded.requests, tokens = excluded.tokens RETURNING 1
	) SELECT pg_notify($4, '') FROM r`, l.Provider, l.Requests, l.Tokens, channel)
	if err != nil {
		return fmt.Errorf("cannot set the limits of provider %q: %w", l.Provider, err)
	}
	return nil
}

// List returns the limits, by provider.
func List(ctx context.Context, pool *pgxpool.Pool) ([]Limit, error) {
	rows, err := pool.Query(
		ctx,
		`SELECT provider, coalesce(requests, 0), coalesce(tokens, 0) FROM settle_fleet.rate ORDER BY provider`,
	)
	if err == nil {
		var list []Limit
		if list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Limit]); err == nil {
			return list, nil
		}
	}
	return nil, fmt.Errorf("cannot list the limits of providers: %w", err)
}

// Rates has the limits of providers in one worker. Its methods may be called by several
// goroutines.
type Rates struct {
	pool  *pgxpool.Pool
	life  context.Context // it is the worker's
	stop  context.CancelFunc
	loops sync.WaitGroup

	mu        sync.Mutex
	hasLimits map[string]bool // providers with limits
	keys      map[string]*Key
	holds     map[string]time.Time // by key, also for keys without a user here
}

// Open returns the limits of the pool's database. The caller closes them, before the
// pool.
func Open(ctx context.Context, pool *pgxpool.Pool) (*Rates, error) {
	r := &Rates{pool: pool, keys: map[string]*Key{}, holds: map[string]time.Time{}}
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	r.life, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	r.loops.Go(func() {
		pgnotify.Listen(
			r.life, pool.Config().ConnConfig,
			pgnotify.Listener{Channel: channel, Begin: r.catchUp, Payload: r.onNotification},
		)
	})
	return r, nil
}

// Close ends the goroutines of the limits. It refuses all waiting callers.
func (r *Rates) Close() {
	r.stop()
	r.loops.Wait()
}

// load reads which providers have limits.
func (r *Rates) load(ctx context.Context) error {
	list, err := List(ctx, r.pool)
	if err != nil {
		return err
	}
	hasLimits := map[string]bool{}
	for _, l := range list {
		hasLimits[l.Provider] = l.Requests > 0 || l.Tokens > 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hasLimits = hasLimits
	for _, k := range r.keys {
		k.wake() // requests may wait for a limit that was removed
	}
	return nil
}

// catchUp reads the limits and holds whose notifications may have been lost.
func (r *Rates) catchUp(ctx context.Context) {
	if r.load(ctx) != nil {
		return // the connection is lost; there will be another
	}
	rows, err := r.pool.Query(
		ctx,
		`SELECT id, extract(epoch FROM held - now())::float8 FROM settle_fleet.key WHERE held > now()`,
	)
	if err != nil {
		return
	}
	var id string
	var seconds float64
	_, _ = pgx.ForEachRow(rows, []any{&id, &seconds}, func() error { r.hold(id, seconds); return nil })
}

// onNotification applies a notification: a hold of a key, or a change of limits.
func (r *Rates) onNotification(payload string) {
	id, text, isHold := strings.Cut(payload, " ")
	if !isHold {
		ctx, cancel := context.WithTimeout(r.life, loadTimeout)
		defer cancel()
		_ = r.load(ctx) // after an error, the next connection reads the limits
		return
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		r.hold(id, seconds)
	}
}

// loadTimeout bounds the reading of limits.
const loadTimeout = 10 * time.Second

// hold holds the requests of this worker that use the key.
func (r *Rates) hold(id string, seconds float64) {
	now := time.Now()
	until := now.Add(time.Duration(seconds * float64(time.Second)))
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.holds, func(_ string, until time.Time) bool { return until.Before(now) })
	if r.holds[id].Before(until) {
		r.holds[id] = until
	}
	if k := r.keys[id]; k != nil {
		k.limiter.Join(until)
	}
}

// isLimited reports whether requests to the provider need permission.
func (r *Rates) isLimited(provider string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hasLimits[provider]
}

// Key returns a provider's key, known by its hash, whose sessions in this process
// share the limiter. It does not ask the database.
func (r *Rates) Key(provider, id string, l *model.Limiter) *Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.keys[id]; k != nil {
		return k
	}
	k := &Key{
		rates:     r,
		provider:  provider,
		id:        id,
		limiter:   l,
		kick:      make(chan struct{}, 1),
		holdUntil: make(chan time.Time, 1),
	}
	l.OnHold = k.announceHold
	r.keys[id] = k
	l.Join(r.holds[id])
	r.loops.Go(k.run)
	r.loops.Go(k.runHolds)
	return k
}

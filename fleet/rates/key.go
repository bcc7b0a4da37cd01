package rates

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/settle-agent/settle/model"
)

const (
	// maxAsked bounds how many requests one transaction lets through.
	maxAsked = 1000
	// retryDelay is how long to wait after the database has failed.
	retryDelay = 200 * time.Millisecond
	// maxDelay is the maximum wait before the next query whether a request can be sent:
	// limits can change in between.
	maxDelay = 10 * time.Second
)

// Key is a provider's key in one worker.
type Key struct {
	rates        *Rates
	provider, id string
	limiter      *model.Limiter
	kick         chan struct{}  // holds one token when there is something to ask or to say
	held         chan time.Time // holds until when the key is held, for a report

	mu      sync.Mutex
	waiting []*request
	unsaid  use
}

// use is a report to the database.
type use struct {
	// owed are tokens that requests took beyond those that were set aside.
	owed float64
	// tokens is what responses took, so many of them.
	tokens    float64
	responses int
}

func (u *use) add(v use) {
	u.owed += v.owed
	u.tokens += v.tokens
	u.responses += v.responses
}

// request is one that waits to be sent.
type request struct {
	sent      chan float64 // gets how many tokens are set aside for it; has room for one
	abandoned bool         // no caller waits any more; guarded by Key.mu
}

var errClosed = errors.New("the worker's connection to the database is closed")

// Enter waits until a request may be sent, or ctx ends. The caller reports its
// tokens to [Key.Spend] before it calls leave. Neither waits.
func (k *Key) Enter(ctx context.Context) (leave func(), err error) {
	if !k.rates.isLimited(k.provider) {
		return func() {}, nil
	}
	r := &request{sent: make(chan float64, 1)}
	k.mu.Lock()
	k.waiting = append(k.waiting, r)
	k.mu.Unlock()
	k.wake()
	select {
	case aside := <-r.sent:
		return func() { k.account(use{owed: -aside}) }, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-k.rates.life.Done():
		err = errClosed
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r.abandoned = true
	select {
	case aside := <-r.sent:
		k.unsaid.owed -= aside // it is not used
	default:
	}
	return nil, err
}

// Spend records the tokens of a response.
func (k *Key) Spend(tokens int64) {
	if k.rates.isLimited(k.provider) {
		k.account(use{owed: float64(tokens), tokens: float64(tokens), responses: 1})
	}
}

func (k *Key) account(u use) {
	k.mu.Lock()
	k.unsaid.add(u)
	k.mu.Unlock()
	k.wake()
}

func (k *Key) wake() {
	select {
	case k.kick <- struct{}{}:
	default:
	}
}

// run lets requests through until the worker ends.
func (k *Key) run() {
	retryTimer := time.NewTimer(maxDelay)
	defer retryTimer.Stop()
	for {
		select {
		case <-k.kick:
		case <-retryTimer.C:
		case <-k.rates.life.Done():
			return
		}
		retryTimer.Reset(k.turn())
	}
}

// turn asks for those who wait and says what others took; it returns when to do so
// again at the latest.
func (k *Key) turn() time.Duration {
	k.mu.Lock()
	k.waiting = slices.DeleteFunc(k.waiting, func(r *request) bool { return r.abandoned })
	requests, unsaid := min(len(k.waiting), maxAsked), k.unsaid
	k.unsaid = use{}
	k.mu.Unlock()
	if requests == 0 && unsaid == (use{}) {
		return maxDelay
	}
	if !k.rates.isLimited(k.provider) { // not any more
		k.let(requests, 0)
		return maxDelay
	}
	granted, aside, wait, err := k.ask(requests, unsaid)
	if err != nil {
		k.mu.Lock()
		k.unsaid.add(unsaid)
		k.mu.Unlock()
		return retryDelay
	}
	k.let(granted, aside)
	if requests > granted {
		return min(wait, maxDelay)
	}
	return maxDelay
}

// let lets the first requests through.
func (k *Key) let(granted int, aside float64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for ; granted > 0 && len(k.waiting) > 0; granted-- {
		r := k.waiting[0]
		k.waiting = k.waiting[1:]
		if r.abandoned {
			k.unsaid.owed -= aside
		} else {
			r.sent <- aside // has room
		}
	}
}

// take is a token bucket for requests and one for tokens. Both hold the amount of one
// second. Requests pass while there are tokens; each reserves the average number of tokens
// of a request. Tokens beyond that are a debt.
const take = `
WITH k AS (
	SELECT k.id, greatest(k.held, '-infinity') AS held, k.mean, t.at, r.requests / 60 AS rate, r.tokens / 60 AS flow,
		CASE WHEN r.requests > 0 THEN least(greatest(1, r.requests / 60), k.requests + t.passed * r.requests / 60) END AS requests,
		CASE WHEN r.tokens > 0 THEN least(r.tokens / 60, k.tokens + t.passed * r.tokens / 60) - $3::float8 END AS tokens
	FROM settle_fleet.key k LEFT JOIN settle_fleet.rate r ON r.provider = k.provider,
	LATERAL (SELECT clock_timestamp() AS at, greatest(0, extract(epoch FROM clock_timestamp() - k.at))::float8 AS passed) t
	WHERE k.id = $1 FOR UPDATE OF k
), n AS (
	SELECT *, CASE WHEN held > at OR tokens <= 0 THEN 0 ELSE least($2::int,
		floor(requests + 1e-6)::int, CASE WHEN mean > 0 THEN greatest(1, floor(tokens / mean)::int) ELSE 1000 END) END AS n FROM k
)
UPDATE settle_fleet.key k SET at = n.at, mean = CASE WHEN $5::int = 0 THEN n.mean WHEN n.mean = 0 THEN $4::float8 / $5
	ELSE n.mean + ($4::float8 / $5 - n.mean) * least(1, 0.2 * $5) END, requests = coalesce(n.requests - n.n, 1), tokens = coalesce(n.tokens - n.n * n.mean, 0)
FROM n WHERE k.id = n.id
RETURNING n.n, CASE WHEN n.flow IS NULL THEN 0 ELSE n.mean END,
	coalesce(greatest(extract(epoch FROM nullif(n.held, '-infinity') - n.at)::float8,
		(1 - (n.requests - n.n)) / n.rate, (1 - (n.tokens - n.n * n.mean)) / n.flow, 0.001), 1)`

// ask asks for requests, and says what others took beyond what was set aside.
func (k *Key) ask(n int, u use) (granted int, aside float64, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(k.rates.life, loadTimeout)
	defer cancel()
	if _, err := k.rates.pool.Exec(ctx, `INSERT INTO settle_fleet.key (id, provider) SELECT $1, $2
		WHERE NOT EXISTS (SELECT FROM settle_fleet.key WHERE id = $1) ON CONFLICT (id) DO NOTHING`, k.id, k.provider); err != nil {
		return 0, 0, 0, fmt.Errorf("cannot make the key's bucket: %w", err)
	}
	var seconds float64
	if err := k.rates.pool.QueryRow(ctx, take, k.id, n, u.owed, u.tokens, u.responses).
		Scan(&granted, &aside, &seconds); err != nil {
		return 0, 0, 0, fmt.Errorf("cannot take from the key's bucket: %w", err)
	}
	return granted, aside, time.Duration(seconds * float64(time.Second)), nil
}

// tell has all workers hold the key. It does not wait: the last word counts.
func (k *Key) tell(until time.Time) {
	for {
		select {
		case k.held <- until:
			return
		default:
		}
		select {
		case earlier := <-k.held:
			if earlier.After(until) {
				until = earlier
			}
		default:
		}
	}
}

// runHolds says until when the key is held.
func (k *Key) runHolds() {
	for {
		select {
		case until := <-k.held:
			k.say(until)
		case <-k.rates.life.Done():
			return
		}
	}
}

// say writes a hold down and notifies the other workers. One that cannot be written is
// this worker's alone.
func (k *Key) say(until time.Time) {
	ctx, cancel := context.WithTimeout(k.rates.life, loadTimeout)
	defer cancel()
	_, _ = k.rates.pool.Exec(ctx, `WITH k AS (
		INSERT INTO settle_fleet.key (id, provider, held) VALUES ($1, $2, now() + $3::float8 * interval '1 s')
		ON CONFLICT (id) DO UPDATE SET held = greatest(key.held, excluded.held) RETURNING 1
	) SELECT pg_notify($4, $1 || ' ' || $3::float8::text) FROM k`, k.id, k.provider, time.Until(until).Seconds(), channel)
}

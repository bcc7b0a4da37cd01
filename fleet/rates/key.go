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
	// maxRequests is the maximum number of requests that one transaction admits.
	maxRequests = 1000
	// retryDelay is the wait after a failure of the database.
	retryDelay = 200 * time.Millisecond
	// maxDelay is the maximum wait before the next query whether a request can be sent:
	// limits can change in between.
	maxDelay = 10 * time.Second
)

// Key has the waiting requests and the unreported usage of a provider's key in one worker.
type Key struct {
	rates        *Rates
	provider, id string
	limiter      *model.Limiter
	kick         chan struct{}  // holds one token when requests wait or usage must be reported
	holdUntil    chan time.Time // holds the end of the key's last hold until runHolds stores it

	mu         sync.Mutex
	waiting    []*request
	pendingUse use
}

// use is the usage of a key that is reported to the database.
type use struct {
	// owed is the number of tokens that requests used beyond their reserve; it is below zero if they used less.
	owed float64
	// tokens is the number of tokens of the responses, and responses is the number of responses.
	tokens    float64
	responses int
}

func (u *use) add(v use) {
	u.owed += v.owed
	u.tokens += v.tokens
	u.responses += v.responses
}

// request is a request that waits to be sent.
type request struct {
	grant       chan float64 // receives the tokens reserved for the request when it may be sent; has room for one
	isAbandoned bool         // no caller waits any more; guarded by Key.mu
}

var errClosed = errors.New("the worker's connection to the database is closed")

// Enter waits until a request may be sent, or ctx ends. The caller reports its
// tokens to [Key.Spend] before it calls leave. Neither waits.
func (k *Key) Enter(ctx context.Context) (leave func(), err error) {
	if !k.rates.isLimited(k.provider) {
		return func() {}, nil
	}
	r := &request{grant: make(chan float64, 1)}
	k.mu.Lock()
	k.waiting = append(k.waiting, r)
	k.mu.Unlock()
	k.wake()
	select {
	case reserve := <-r.grant:
		return func() { k.account(use{owed: -reserve}) }, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-k.rates.life.Done():
		err = errClosed
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r.isAbandoned = true
	select {
	case reserve := <-r.grant:
		k.pendingUse.owed -= reserve // it is not used
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
	k.pendingUse.add(u)
	k.mu.Unlock()
	k.wake()
}

func (k *Key) wake() {
	select {
	case k.kick <- struct{}{}:
	default:
	}
}

// run admits requests until the worker ends.
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
		retryTimer.Reset(k.exchange())
	}
}

// exchange asks the database to admit the waiting requests and reports the pending usage. It
// returns the maximum wait before the next exchange.
func (k *Key) exchange() time.Duration {
	k.mu.Lock()
	k.waiting = slices.DeleteFunc(k.waiting, func(r *request) bool { return r.isAbandoned })
	requests, pending := min(len(k.waiting), maxRequests), k.pendingUse
	k.pendingUse = use{}
	k.mu.Unlock()
	if requests == 0 && pending == (use{}) {
		return maxDelay
	}
	if !k.rates.isLimited(k.provider) { // not any more
		k.admit(requests, 0)
		return maxDelay
	}
	grants, reserve, wait, err := k.ask(requests, pending)
	if err != nil {
		k.mu.Lock()
		k.pendingUse.add(pending)
		k.mu.Unlock()
		return retryDelay
	}
	k.admit(grants, reserve)
	if requests > grants {
		return min(wait, maxDelay)
	}
	return maxDelay
}

// admit lets the first waiting requests pass, as many as grants, each with a reserve of tokens.
func (k *Key) admit(grants int, reserve float64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for ; grants > 0 && len(k.waiting) > 0; grants-- {
		r := k.waiting[0]
		k.waiting = k.waiting[1:]
		if r.isAbandoned {
			k.pendingUse.owed -= reserve
		} else {
			r.grant <- reserve // has room
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

// ask asks the database for n requests and reports usage. It returns the number of requests that
// may be sent, the tokens reserved for each of them, and the wait before more may be.
func (k *Key) ask(n int, u use) (grants int, reserve float64, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(k.rates.life, loadTimeout)
	defer cancel()
	if _, err := k.rates.pool.Exec(ctx, `INSERT INTO settle_fleet.key (id, provider) SELECT $1, $2
		WHERE NOT EXISTS (SELECT FROM settle_fleet.key WHERE id = $1) ON CONFLICT (id) DO NOTHING`, k.id, k.provider); err != nil {
		return 0, 0, 0, fmt.Errorf("cannot make the key's bucket: %w", err)
	}
	var seconds float64
	if err := k.rates.pool.QueryRow(ctx, take, k.id, n, u.owed, u.tokens, u.responses).
		Scan(&grants, &reserve, &seconds); err != nil {
		return 0, 0, 0, fmt.Errorf("cannot take from the key's bucket: %w", err)
	}
	return grants, reserve, time.Duration(seconds * float64(time.Second)), nil
}

// announceHold has all workers hold the key until a time, the latest one of all calls. It does not wait.
func (k *Key) announceHold(until time.Time) {
	for {
		select {
		case k.holdUntil <- until:
			return
		default:
		}
		select {
		case previous := <-k.holdUntil:
			if previous.After(until) {
				until = previous
			}
		default:
		}
	}
}

// runHolds stores the holds of the key until the worker ends.
func (k *Key) runHolds() {
	for {
		select {
		case until := <-k.holdUntil:
			k.storeHold(until)
		case <-k.rates.life.Done():
			return
		}
	}
}

// storeHold stores a hold in the database and notifies the other workers. If it cannot be stored,
// only this worker holds the key.
func (k *Key) storeHold(until time.Time) {
	ctx, cancel := context.WithTimeout(k.rates.life, loadTimeout)
	defer cancel()
	_, _ = k.rates.pool.Exec(ctx, `WITH k AS (
		INSERT INTO settle_fleet.key (id, provider, held) VALUES ($1, $2, now() + $3::float8 * interval '1 s')
		ON CONFLICT (id) DO UPDATE SET held = greatest(key.held, excluded.held) RETURNING 1
	) SELECT pg_notify($4, $1 || ' ' || $3::float8::text) FROM k`, k.id, k.provider, time.Until(until).Seconds(), channel)
}

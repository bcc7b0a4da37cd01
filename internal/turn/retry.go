package turn

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/run"
)

const (
	faultRetries, stallRetries      = 5, 2
	maxFailures                     = 50 // failed attempts in a row, whatever their kinds
	defaultRetryFor                 = 10 * time.Minute
	faultDelay, faultDelayCap       = 500 * time.Millisecond, 30 * time.Second
	overloadDelay, overloadDelayCap = 2 * time.Second, 60 * time.Second
)

func withDefaults(r run.Retry) run.Retry {
	if r.RetryFor == 0 {
		r.RetryFor = defaultRetryFor
	}
	return r
}

// budget counts the failures since the last whole response. It is the only
// retry layer (C13).
type budget struct {
	run.Retry
	faults, stalls, outages int
	renewals                int
	outageStart             time.Time // of the first outage: overloaded, or not to be reached
	failures                int       // of all kinds
}

// reset starts the counts anew: the response came whole.
func (b *budget) reset() {
	b.faults, b.stalls, b.outages, b.renewals, b.failures = 0, 0, 0, 0, 0
}

// decision is what becomes of a failed attempt.
type decision struct {
	retry        bool
	degraded     bool                  // the next request is without what the provider refused in this one
	change       *event.HistoryChanged // of what is sent from then on
	note         string                // for people: what was done about it, or what to do
	delay        time.Duration
	holdSessions bool   // sessions with the same key are to wait as well
	attempt      int    // which attempt in a row failed, whatever its kind
	limit        int    // at which retry it ends if all others fail likewise; 0 where time bounds them
	exhausted    string // there is no retry, beyond the error itself
}

// yield counts the failure of a request that is made again without what was
// refused of it.
func (b *budget) degrade() decision {
	b.failures++
	return b.bounded(decision{retry: true, degraded: true, attempt: b.failures})
}

// renewed counts the failure of a request whose key had expired, and which is
// made again at once with another. One that is refused as well ends the turn.
func (b *budget) retryRenewed(e *model.Error) decision {
	if !e.Renewed || b.renewals > 0 {
		return decision{}
	}
	b.renewals++
	b.failures++
	return b.bounded(decision{retry: true, attempt: b.failures, note: "asking again with a new key"})
}

// repeat counts a refusal that may not come again, as one fault.
func (b *budget) retryRefusal(e *model.Error) decision {
	b.failures++
	b.faults++
	d := b.bounded(b.countedRetry(e, b.faults, faultRetries))
	if !d.retry { // it is counted as what it becomes
		b.failures--
		b.faults--
	}
	return d
}

// decide counts the failure and says whether to try again, and when.
func (b *budget) decide(e *model.Error, now time.Time) decision {
	b.failures++
	if !retryable(e) {
		return decision{attempt: b.failures}
	}
	var d decision
	switch {
	case e.Kind == model.ErrRateLimit, e.Kind == model.ErrOverloaded, e.Unreachable:
		d = b.outage(e, now)
	case e.Kind == model.ErrStalled, e.Kind == model.ErrTimeout && e.Status == 0: // ours
		b.stalls++
		d = b.countedRetry(e, b.stalls, stallRetries)
	default:
		b.faults++
		d = b.countedRetry(e, b.faults, faultRetries)
	}
	return b.bounded(d)
}

// bounded is d, or no retry if too much failed in a row.
func (b *budget) bounded(d decision) decision {
	if d.retry && b.failures >= maxFailures {
		d.retry, d.degraded, d.exhausted = false, false, fmt.Sprintf("%d attempts in a row failed", b.failures)
	}
	return d
}

// retryable: a conflict of a rollout endpoint is final, since the same rollout
// would conflict again.
func retryable(e *model.Error) bool {
	if e.Kind == model.ErrConflict && strings.Contains(e.URL, "/v1/rollouts/") {
		return false
	}
	return e.Retryable()
}

// counted retries a fault up to a number of times; it is the nth of its kind.
func (b *budget) countedRetry(e *model.Error, n, limit int) decision {
	if b.Retries != nil {
		n, limit = b.retryCount(), *b.Retries
	}
	d := decision{attempt: b.failures, limit: b.lastRetry(n, limit), delay: backoff(n, faultDelay, faultDelayCap)}
	if e.RetryAfter > 0 {
		d.delay = e.RetryAfter
	}
	switch {
	case n > limit:
		d.exhausted = "no retry is left"
	case d.delay > b.RetryFor && e.RetryAfter > 0:
		d.exhausted = fmt.Sprintf("the provider asks to wait %s", formatDuration(d.delay))
	default:
		d.retry = true
	}
	return d
}

// retried counts what Retries bounds: the failures of all kinds, but for
// refusals after which another request is made.
func (b *budget) retryCount() int { return b.faults + b.stalls + b.outages }

// last returns which retry in a row is the last one if all that follows is of
// one kind, of which this was the nth and so many are retried. Attempts of all
// kinds count on, or people would read "2, 3, 2 of 6".
func (b *budget) lastRetry(n, limit int) int {
	if limit == 0 {
		return 0
	}
	return b.failures - n + limit
}

// outage retries a provider for a time that is overloaded or cannot be reached.
func (b *budget) outage(e *model.Error, now time.Time) decision {
	b.outages++
	if b.outages == 1 {
		b.outageStart = now
	}
	d := decision{attempt: b.failures, holdSessions: !e.Unreachable, delay: backoff(b.outages, overloadDelay, overloadDelayCap)}
	if e.RetryAfter > 0 {
		d.delay = e.RetryAfter
	}
	left := b.outageStart.Add(b.RetryFor).Sub(now)
	if b.Retries != nil {
		d.limit, left = b.lastRetry(b.retryCount(), *b.Retries), b.RetryFor
	}
	switch {
	case b.Retries != nil && b.retryCount() > *b.Retries:
		d.exhausted = "no retry is left"
	case d.delay > left:
		d.exhausted = fmt.Sprintf("the wait until %s is longer than what is left of %s", now.Add(d.delay).UTC().Format(time.RFC3339), formatDuration(b.RetryFor))
	default:
		d.retry = true
	}
	if e.RetryAfter > 0 {
		d.delay += delayJitter(e.RetryAfter)
	}
	return d
}

// spread is over how long sessions that were told to wait come back.
const maxDelayJitter = 2 * time.Second

// apart is what is added to a wait that a provider asked for, since it asks
// everybody for the same.
func delayJitter(d time.Duration) time.Duration {
	return time.Duration(float64(min(d/10, maxDelayJitter)) * rand.Float64()) //nolint:gosec // jitter is no secret
}

// backoff doubles the delay each time, with a jitter of a quarter either way,
// so that sessions that failed together do not come back together.
func backoff(n int, first, most time.Duration) time.Duration {
	d := most
	if n-1 < 16 {
		d = min(first<<(n-1), most)
	}
	return min(time.Duration(float64(d)*(0.75+rand.Float64()/2)), most) //nolint:gosec // jitter is no secret
}

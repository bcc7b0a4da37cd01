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
	maxFailures                     = 50 // failed attempts in a row, of any kinds
	defaultRetryFor                 = 10 * time.Minute
	localRetryFor                   = 5 * time.Second // if no program listens on this machine
	faultDelay, faultDelayCap       = 500 * time.Millisecond, 30 * time.Second
	overloadDelay, overloadDelayCap = 2 * time.Second, 60 * time.Second
)

func withDefaults(r run.Retry) run.Retry {
	if r.RetryFor == 0 {
		r.RetryFor = defaultRetryFor
	}
	return r
}

// budget counts the failures since the last complete response. It is the only retry layer
// (C13).
type budget struct {
	run.Retry
	faults, stalls, outages int
	renewals                int
	outageStart             time.Time // start of the first outage: overloaded or unreachable
	failures                int       // of all kinds
}

// reset resets the counts after a complete response.
func (b *budget) reset() {
	b.faults, b.stalls, b.outages, b.renewals, b.failures = 0, 0, 0, 0, 0
}

// decision is the reaction to a failed attempt.
type decision struct {
	retry        bool
	fallback     bool                  // the next request goes to the fallback model
	degraded     bool                  // the next request leaves out the refused parts
	change       *event.HistoryChanged // change of the history for all later requests
	note         string                // for people: the reaction of settle, or advice
	delay        time.Duration
	holdSessions bool   // sessions with the same key wait as well
	attempt      int    // number of failed attempts in a row, of any kinds
	limit        int    // the last retry if all later attempts fail in the same way; 0 if time bounds them
	exhausted    string // why there is no retry, if the error itself could be retried
}

// degrade counts the failure of a request that is sent again without the refused parts.
func (b *budget) degrade() decision {
	b.failures++
	return b.bounded(decision{retry: true, degraded: true, attempt: b.failures})
}

// retryRenewed counts the failure of a request whose key had expired; the request is sent
// again at once with a new key. A second refusal ends the turn.
func (b *budget) retryRenewed(e *model.Error) decision {
	if !e.Renewed || b.renewals > 0 {
		return decision{}
	}
	b.renewals++
	b.failures++
	return b.bounded(decision{retry: true, attempt: b.failures, note: "asking again with a new key"})
}

// retryRefusal counts a refusal that may be temporary as one fault.
func (b *budget) retryRefusal(e *model.Error) decision {
	b.failures++
	b.faults++
	d := b.bounded(b.countedRetry(e, b.faults, faultRetries))
	if !d.retry { // the caller counts it as another kind
		b.failures--
		b.faults--
	}
	return d
}

// decide counts the failure and decides whether and when to retry.
func (b *budget) decide(e *model.Error, now time.Time) decision {
	b.failures++
	if !retryable(e) {
		return decision{attempt: b.failures}
	}
	var d decision
	switch {
	case e.Kind == model.ErrRateLimit, e.Kind == model.ErrOverloaded, e.Unreachable:
		d = b.outage(e, now)
	case e.Kind == model.ErrStalled, e.Kind == model.ErrTimeout && e.Status == 0: // the attempt's own timeout
		b.stalls++
		d = b.countedRetry(e, b.stalls, stallRetries)
	default:
		b.faults++
		d = b.countedRetry(e, b.faults, faultRetries)
	}
	return b.bounded(d)
}

// bounded returns d, or no retry after too many failures in a row.
func (b *budget) bounded(d decision) decision {
	if d.retry && b.failures >= maxFailures {
		d.retry, d.degraded, d.exhausted = false, false, fmt.Sprintf("%d attempts in a row failed", b.failures)
	}
	return d
}

// retryable reports whether a fault may be retried. A conflict of a rollout endpoint may not:
// the same rollout would conflict again.
func retryable(e *model.Error) bool {
	if e.Kind == model.ErrConflict && strings.Contains(e.URL, "/v1/rollouts/") {
		return false
	}
	return e.Retryable()
}

// countedRetry retries a fault up to a limit; n is the number of faults of its kind.
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

// retryCount returns the failures that Retries bounds: failures of all kinds, without refusals
// after which a degraded request follows.
func (b *budget) retryCount() int { return b.faults + b.stalls + b.outages }

// lastRetry returns the number, among attempts of all kinds, of the last retry if all later
// faults are of the same kind. n is the number of faults of this kind, and limit its bound.
// Attempts of all kinds are counted together, so that people do not read "2, 3, 2 of 6".
func (b *budget) lastRetry(n, limit int) int {
	if limit == 0 {
		return 0
	}
	return b.failures - n + limit
}

// outage retries an overloaded or unreachable provider for a bounded time.
func (b *budget) outage(e *model.Error, now time.Time) decision {
	b.outages++
	if b.outages == 1 {
		b.outageStart = now
	}
	window := b.RetryFor
	d := decision{
		attempt: b.failures, holdSessions: !e.Unreachable, delay: backoff(b.outages, overloadDelay, overloadDelayCap),
	}
	if e.NotListening && window == defaultRetryFor { // waiting starts no server
		window, d.delay = localRetryFor, backoff(b.outages, faultDelay, overloadDelay)
	}
	if e.RetryAfter > 0 {
		d.delay = e.RetryAfter
	}
	left := b.outageStart.Add(window).Sub(now)
	if b.Retries != nil {
		d.limit, left = b.lastRetry(b.retryCount(), *b.Retries), b.RetryFor
	}
	switch {
	case b.Retries != nil && b.retryCount() > *b.Retries:
		d.exhausted = "no retry is left"
	case d.delay > left:
		d.exhausted = fmt.Sprintf(
			"the next retry would be at %s, and settle retries this for %s at most",
			now.Add(d.delay).UTC().Format(time.RFC3339), formatDuration(window),
		)
	default:
		d.retry = true
	}
	if e.RetryAfter > 0 {
		d.delay += delayJitter(e.RetryAfter)
	}
	return d
}

// maxDelayJitter bounds delayJitter.
const maxDelayJitter = 2 * time.Second

// delayJitter returns a random addition to a delay that a provider asked for: it asks all
// sessions for the same delay.
func delayJitter(d time.Duration) time.Duration {
	return time.Duration(float64(min(d/10, maxDelayJitter)) * rand.Float64()) // jitter is no secret
}

// backoff doubles the delay each time, with a jitter of a quarter, so that sessions that
// failed together do not retry together.
func backoff(n int, first, maximum time.Duration) time.Duration {
	d := maximum
	if n-1 < 16 {
		d = min(first<<(n-1), maximum)
	}
	return min(time.Duration(float64(d)*(0.75+rand.Float64()/2)), maximum) // jitter is no secret
}

package turn

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// Retry says how often a failed attempt is made again.
type Retry struct {
	// Retries, if set, is how many retries any kind of fault gets.
	Retries *int
	// RetryFor is for how long an overloaded provider is tried again; 0 means
	// 10 minutes, negative not at all.
	RetryFor time.Duration
}

const (
	faultRetries, stallRetries      = 5, 2
	mostFailures                    = 50 // failed attempts in a turn, whatever their kinds
	defaultRetryFor                 = 10 * time.Minute
	faultDelay, faultDelayCap       = 500 * time.Millisecond, 30 * time.Second
	overloadDelay, overloadDelayCap = 2 * time.Second, 60 * time.Second
)

func (r Retry) withDefaults() Retry {
	if r.RetryFor == 0 {
		r.RetryFor = defaultRetryFor
	}
	return r
}

// budget counts the failures since the last whole response. It is the only
// retry layer (C13).
type budget struct {
	Retry
	faults, stalls, overloads int
	since                     time.Time // of the first overload
	failures                  int       // in the turn
}

// reset starts the counts anew: the response came whole.
func (b *budget) reset() {
	b.faults, b.stalls, b.overloads = 0, 0, 0
}

// decision is what becomes of a failed attempt.
type decision struct {
	retry      bool
	yields     bool                  // the next request is without what the provider refused in this one
	change     *event.HistoryChanged // of what is sent from then on
	note       string                // for people: what was done about it, or what to do
	delay      time.Duration
	holdOthers bool   // sessions with the same key are to wait as well
	attempt    int    // which attempt failed, of those that count together
	limit      int    // how many retries those have; 0 where time bounds them
	why        string // there is no retry, beyond the error itself
}

// yield counts the failure of a request that is made again without what was
// refused of it.
func (b *budget) yield() decision {
	b.failures++
	return b.bounded(decision{retry: true, yields: true, attempt: 1})
}

// repeat counts a refusal that may not come again, as one fault.
func (b *budget) repeat(e *model.Error) decision {
	b.failures++
	b.faults++
	d := b.bounded(b.counted(e, b.faults, faultRetries))
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
		return decision{attempt: 1}
	}
	var d decision
	switch e.Kind {
	case model.ErrRateLimit, model.ErrOverloaded:
		d = b.overload(e, now)
	case model.ErrStalled:
		b.stalls++
		d = b.counted(e, b.stalls, stallRetries)
	default:
		b.faults++
		d = b.counted(e, b.faults, faultRetries)
	}
	return b.bounded(d)
}

// bounded is d, or no retry if too much failed in the turn.
func (b *budget) bounded(d decision) decision {
	if d.retry && b.failures >= mostFailures {
		d.retry, d.yields, d.why = false, false, fmt.Sprintf("%d attempts of this turn failed", b.failures)
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

// counted retries a fault up to a number of times.
func (b *budget) counted(e *model.Error, n, limit int) decision {
	if b.Retries != nil {
		limit = *b.Retries
	}
	d := decision{attempt: n, limit: limit, delay: backoff(n, faultDelay, faultDelayCap)}
	if e.RetryAfter > 0 {
		d.delay = e.RetryAfter
	}
	switch {
	case n > limit:
		d.why = "no retry is left"
	case d.delay > b.RetryFor && e.RetryAfter > 0:
		d.why = fmt.Sprintf("the provider asks to wait %s", words(d.delay))
	default:
		d.retry = true
	}
	return d
}

// overload retries an overloaded provider for a time.
func (b *budget) overload(e *model.Error, now time.Time) decision {
	b.overloads++
	if b.overloads == 1 {
		b.since = now
	}
	d := decision{attempt: b.overloads, holdOthers: true, delay: backoff(b.overloads, overloadDelay, overloadDelayCap)}
	if e.RetryAfter > 0 {
		d.delay = e.RetryAfter
	}
	left := b.since.Add(b.RetryFor).Sub(now)
	if b.Retries != nil {
		d.limit, left = *b.Retries, b.RetryFor
	}
	switch {
	case b.Retries != nil && b.overloads > *b.Retries:
		d.why = "no retry is left"
	case d.delay > left:
		d.why = fmt.Sprintf("the wait until %s is longer than what is left of %s", now.Add(d.delay).UTC().Format(time.RFC3339), words(b.RetryFor))
	default:
		d.retry = true
	}
	if e.RetryAfter > 0 {
		d.delay += apart(e.RetryAfter)
	}
	return d
}

// apart is what is added to a wait that a provider asked for, since it asks
// everybody for the same.
func apart(d time.Duration) time.Duration {
	return time.Duration(float64(min(d/10, spread)) * rand.Float64()) //nolint:gosec // jitter is no secret
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

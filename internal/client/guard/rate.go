package guard

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// WrongTokenCost is the cost of a wrong token, in requests.
const WrongTokenCost = 20

// maxAddresses bounds the addresses with a bucket of their own; all others share a bucket.
const maxAddresses = 4096

// sweepDelay is the least time between two searches for addresses to forget.
const sweepDelay = time.Second

// Rate bounds how many requests an address makes: a bucket for each, which
// fills at a rate.
type Rate struct {
	perSecond, burst float64
	now              func() time.Time

	mu      sync.Mutex // guards the fields below
	buckets map[string]*bucket
	swept   time.Time // when full ones were last looked for
}

type bucket struct {
	left float64
	at   time.Time
}

// NewRate returns a rate of perSecond requests a second on average, in bursts of at most
// burst.
func NewRate(perSecond, burst float64, now func() time.Time) *Rate {
	return &Rate{perSecond: perSecond, burst: burst, now: now, buckets: map[string]*bucket{}}
}

// Take reports whether the address may do something of the cost now.
func (l *Rate) Take(address string, cost float64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	b := l.bucket(address, now)
	b.left = min(l.burst, b.left+l.perSecond*now.Sub(b.at).Seconds())
	b.at = now
	if b.left < cost {
		return false
	}
	b.left -= cost
	return true
}

func (l *Rate) bucket(address string, now time.Time) *bucket {
	if b := l.buckets[address]; b != nil {
		return b
	}
	if len(l.buckets) >= maxAddresses && now.Sub(l.swept) >= sweepDelay {
		l.swept = now
		for known, b := range l.buckets { // the full ones say nothing
			if b.left+l.perSecond*now.Sub(b.at).Seconds() >= l.burst {
				delete(l.buckets, known)
			}
		}
	}
	if len(l.buckets) >= maxAddresses {
		address = "" // together with all the others
		if b := l.buckets[address]; b != nil {
			return b
		}
	}
	b := &bucket{left: l.burst, at: now}
	l.buckets[address] = b
	return b
}

// Caller returns the address that a request comes from, without the port.
func Caller(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

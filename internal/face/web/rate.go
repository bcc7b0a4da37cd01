package web

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// wrongTokenCost is what a wrong token costs, in requests.
const wrongTokenCost = 20

// mostAddresses bounds the addresses that are told apart; all others share a
// bucket.
const mostAddresses = 4096

// sweepDelay is the least time between two searches for addresses to forget.
const sweepDelay = time.Second

// rate bounds how many requests an address makes: a bucket for each, which
// fills at a rate.
type rate struct {
	perSecond, burst float64
	now              func() time.Time

	mu      sync.Mutex // guards what follows
	buckets map[string]*bucket
	swept   time.Time // when full ones were last looked for
}

type bucket struct {
	left float64
	at   time.Time
}

func newRate(perSecond, burst float64, now func() time.Time) *rate {
	return &rate{perSecond: perSecond, burst: burst, now: now, buckets: map[string]*bucket{}}
}

// take reports whether the address may do something of the cost now.
func (l *rate) take(address string, cost float64) bool {
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

func (l *rate) bucket(address string, now time.Time) *bucket {
	if b := l.buckets[address]; b != nil {
		return b
	}
	if len(l.buckets) >= mostAddresses && now.Sub(l.swept) >= sweepDelay {
		l.swept = now
		for known, b := range l.buckets { // the full ones say nothing
			if b.left+l.perSecond*now.Sub(b.at).Seconds() >= l.burst {
				delete(l.buckets, known)
			}
		}
	}
	if len(l.buckets) >= mostAddresses {
		address = "" // together with all the others
		if b := l.buckets[address]; b != nil {
			return b
		}
	}
	b := &bucket{left: l.burst, at: now}
	l.buckets[address] = b
	return b
}

// address returns the address that a request comes from, without the port.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

func errTooMany() error {
	return newProblem(http.StatusTooManyRequests, "rate", "there are too many requests from your address; nothing was done; try again later")
}

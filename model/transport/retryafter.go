package transport

import (
	"net/http"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/retryafter"
)

const (
	// maxWait is the longest wait that is believed.
	maxWait = retryafter.Longest
	// noWait says that a provider asked for no wait.
	noWait = retryafter.None
)

// retryAfter returns the wait that a provider asked for: in the header, else
// in the answer, in a field or in words.
func retryAfter(h http.Header, d Detail, now func() time.Time) time.Duration {
	if wait := retryafter.Wait(h, now); wait > 0 {
		return wait
	}
	return d.wait()
}

// messageWait finds "try again in 1.5s", "in 2m30s", "retry after 20 seconds"
// and the like.
func messageWait(message string) time.Duration {
	message = strings.ToLower(message)
	for _, lead := range []string{"try again in ", "retry in ", "retry after ", "try again after ", "resets in ", "reset in "} {
		for rest := message; ; {
			var found bool
			if _, rest, found = strings.Cut(rest, lead); !found {
				break
			}
			if wait := spoken(rest); wait > 0 {
				return wait
			}
		}
	}
	return noWait
}

// spoken reads as many pairs of a number and a unit as text begins with:
// "1h2m", "1 minute and 5 seconds", "34.07s". A bare number is seconds.
func spoken(text string) time.Duration {
	total := noWait
	for {
		text = strings.TrimLeft(text, " ,")
		text = strings.TrimPrefix(text, "and ")
		n := digits(text)
		if n == 0 {
			return total
		}
		rest := strings.TrimLeft(text[n:], " ")
		letters := 0
		for letters < len(rest) && 'a' <= rest[letters] && rest[letters] <= 'z' {
			letters++
		}
		unit, ok := unitOf(rest[:letters])
		if !ok {
			if total > 0 {
				return total
			}
			return retryafter.Count(strings.TrimRight(text[:n], "."), time.Second)
		}
		if wait := retryafter.Count(text[:n], unit); wait > 0 {
			total = min(max(total, 0)+wait, maxWait)
		}
		text = rest[letters:]
	}
}

// digits returns the length of the number that text begins with.
func digits(text string) int {
	n := 0
	for n < len(text) && ('0' <= text[n] && text[n] <= '9' || text[n] == '.' && n > 0) {
		n++
	}
	return n
}

func unitOf(word string) (time.Duration, bool) {
	switch word {
	case "ms", "millisecond", "milliseconds":
		return time.Millisecond, true
	case "s", "sec", "secs", "second", "seconds":
		return time.Second, true
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute, true
	case "h", "hr", "hrs", "hour", "hours":
		return time.Hour, true
	case "d", "day", "days":
		return 24 * time.Hour, true
	}
	return 0, false
}

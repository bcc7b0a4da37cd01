package transport

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter is the longest delay that settle accepts from a server. A longer delay,
// or one that does not fit a Duration, is cut to it.
const MaxRetryAfter = 30 * 24 * time.Hour

// NoRetryAfter means that a server requested no delay.
const NoRetryAfter = time.Duration(-1)

// RetryAfter returns the delay that a response header asks for, or NoRetryAfter: from
// retry-after-ms (milliseconds), else from Retry-After (seconds, also fractional, or a
// date). A date is relative to the response's own Date, if it has one, since the clock of
// this machine can be wrong. Zero, negative, past and unreadable values count as none, so
// that the caller's own delay applies; very long values are cut to MaxRetryAfter.
func RetryAfter(h http.Header, now func() time.Time) time.Duration {
	if wait := delayOf(h.Get("Retry-After-Ms"), time.Millisecond); wait > 0 {
		return wait
	}
	header := strings.TrimSpace(h.Get("Retry-After"))
	if wait := delayOf(header, time.Second); wait > 0 {
		return wait
	}
	if date, err := http.ParseTime(header); err == nil {
		from, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			from = now()
		}
		if wait := date.Sub(from); wait > 0 {
			return min(wait, MaxRetryAfter)
		}
	}
	return NoRetryAfter
}

// delayOf returns a positive number of units as a duration, or NoRetryAfter.
func delayOf(text string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if (err != nil && !math.IsInf(n, 1)) || math.IsNaN(n) || n <= 0 {
		return NoRetryAfter
	}
	if n >= float64(MaxRetryAfter)/float64(unit) {
		return MaxRetryAfter
	}
	if wait := time.Duration(math.Round(n * float64(unit))); wait > 0 {
		return wait
	}
	return NoRetryAfter
}

// retryAfter returns the wait that a provider asked for: in the header, else
// in the answer, in a field or in words.
func retryAfter(h http.Header, d Detail, now func() time.Time) time.Duration {
	if wait := RetryAfter(h, now); wait > 0 {
		return wait
	}
	return d.wait()
}

// messageWait finds "try again in 1.5s", "in 2m30s", "retry after 20 seconds"
// and the like.
func messageWait(message string) time.Duration {
	message = strings.ToLower(message)
	for _, lead := range []string{
		"try again in ", "retry in ", "retry after ", "try again after ", "resets in ", "reset in ",
	} {
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
	return NoRetryAfter
}

// spoken reads as many pairs of a number and a unit as text begins with:
// "1h2m", "1 minute and 5 seconds", "34.07s". A bare number is seconds.
func spoken(text string) time.Duration {
	total := NoRetryAfter
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
			return delayOf(strings.TrimRight(text[:n], "."), time.Second)
		}
		if wait := delayOf(text[:n], unit); wait > 0 {
			total = min(max(total, 0)+wait, MaxRetryAfter)
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

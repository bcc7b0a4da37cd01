// Package retryafter reads how long a server asks to be left alone, from the header of
// its answer: Retry-After, in seconds or as a date
// (https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3), and Retry-After-Ms. It makes
// no requests, and does not wait.
package retryafter

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Longest is the longest wait that is believed; a longer one, as well as one
// that is too long for a Duration, counts as this.
const Longest = 30 * 24 * time.Hour

// None says that a server asked for no wait.
const None = time.Duration(-1)

// Wait returns the wait that a header asks for, or None: by retry-after-ms
// (milliseconds), else Retry-After (seconds, also fractional, or a date). A date is
// counted from the answer's own, where that has one: the clock of this machine may be
// wrong. Zero, negative, past and unreadable values count as none, so that the caller's
// own delay applies and nobody is hammered; absurdly long ones are cut to Longest.
func Wait(h http.Header, now func() time.Time) time.Duration {
	if wait := Count(h.Get("Retry-After-Ms"), time.Millisecond); wait > 0 {
		return wait
	}
	header := strings.TrimSpace(h.Get("Retry-After"))
	if wait := Count(header, time.Second); wait > 0 {
		return wait
	}
	if date, err := http.ParseTime(header); err == nil {
		from, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			from = now()
		}
		if wait := date.Sub(from); wait > 0 {
			return min(wait, Longest)
		}
	}
	return None
}

// Count returns a positive count of units, or None.
func Count(text string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if (err != nil && !math.IsInf(n, 1)) || math.IsNaN(n) || n <= 0 {
		return None
	}
	if n >= float64(Longest)/float64(unit) {
		return Longest
	}
	if wait := time.Duration(math.Round(n * float64(unit))); wait > 0 {
		return wait
	}
	return None
}

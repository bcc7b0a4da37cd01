package guard

import (
	"strconv"
	"testing"
	"time"
)

// An address has a burst, and then a rate; other addresses have their own; and the memory for
// addresses is bounded.
func TestRate(t *testing.T) {
	now := time.Unix(1, 0)
	l := NewRate(10, 20, func() time.Time { return now })
	taken := func(address string) (n int) {
		for l.Take(address, 1) {
			n++
		}
		return n
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 20}, {0, 0}, {time.Second, 10}, {time.Hour, 20}} {
		now = now.Add(c.after)
		if got := taken("a"); got != c.want {
			t.Errorf("after %v there are %d, want %d", c.after, got, c.want)
		}
	}
	if got := taken("b"); got != 20 {
		t.Errorf("another address has %d", got)
	}
	for n := range 3 * maxAddresses {
		taken(strconv.Itoa(n))
	}
	if got := len(l.buckets); got > maxAddresses+1 {
		t.Errorf("%d addresses are kept", got)
	}
	if taken("yet another") > 0 {
		t.Error("who is not told apart has a bucket of its own")
	}
	now = now.Add(time.Minute)
	if taken("yet another") != 20 || len(l.buckets) > 2 {
		t.Errorf("%d addresses are kept that say nothing", len(l.buckets))
	}
}

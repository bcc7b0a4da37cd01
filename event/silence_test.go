package event

import (
	"testing"
	"time"
)

// The cases are the same as in the test of the page
// (internal/frontend/web/page/unit/timing.test.mjs).
func TestSilence(t *testing.T) {
	limits := &StreamLimits{FirstMS: 600_000, StallMS: 180_000, ThinkingMS: 900_000}
	begin, sec := time.Unix(1000, 0), time.Second
	after := func(d time.Duration) time.Time { return begin.Add(d) }
	output := after(2 * time.Second)
	for _, c := range []struct {
		name   string
		output time.Time
		model  string
		limits *StreamLimits
		now    time.Duration
		want   Silence
		long   bool
	}{
		{"short", time.Time{}, "m", limits, 9 * sec, Silence{For: 9 * sec, Limit: 10 * time.Minute}, false},
		{"first", time.Time{}, "m", limits, 45 * sec, Silence{For: 45 * sec, Limit: 10 * time.Minute}, true},
		{"later", output, "m", limits, 47 * sec, Silence{45 * sec, 3 * time.Minute, true}, true},
		{"keep-alives", output, "m", limits, 202 * sec, Silence{200 * sec, 15 * time.Minute, true}, true},
		{"fallback", time.Time{}, "other", limits, 45 * sec, Silence{For: 45 * sec}, true},
		{"unknown", time.Time{}, "m", nil, 45 * sec, Silence{For: 45 * sec}, true},
		{"no limit", time.Time{}, "m", &StreamLimits{StallMS: 1}, 45 * sec, Silence{For: 45 * sec}, true},
	} {
		turn := Turn{
			Start: TurnStarted{Model: "m", StreamLimits: c.limits}, OutputAt: c.output,
			Attempts: []*Attempt{{StartedAt: begin, Start: AttemptStarted{Model: c.model}}},
		}
		if got, long := turn.Silence(after(c.now)); got != c.want || long != c.long {
			t.Errorf("%s: %+v, long: %t", c.name, got, long)
		}
	}
	if s, long := (&Turn{Attempts: []*Attempt{{End: &AttemptEnded{}}}}).Silence(begin); long {
		t.Errorf("an attempt that ended is silent: %+v", s)
	}
}

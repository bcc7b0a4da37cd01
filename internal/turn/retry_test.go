package turn

import (
	"testing"
	"time"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/run"
)

// For each failure: whether it is retried, up to the last retry and the exact time.
func TestDecide(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	two := 2
	fault := func(kind model.ErrorKind, after time.Duration) *model.Error {
		e := model.NewError(kind, "no")
		e.RetryAfter = after
		return e
	}
	rollout := func(kind model.ErrorKind, url string) *model.Error {
		e := model.NewError(kind, "no")
		e.URL = url
		return e
	}
	const forever = 10 * time.Minute
	for name, tt := range map[string]struct {
		budget budget
		fault  *model.Error
		at     time.Duration // since the first overload
		retry  bool
		least  time.Duration // of the delay
		most   time.Duration
	}{
		"the fifth fault":                    {budget{faults: 4}, fault(model.ErrConnection, 0), 0, true, 6 * time.Second, 10 * time.Second},
		"the sixth fault":                    {budget{faults: 5}, fault(model.ErrConnection, 0), 0, false, 0, time.Minute},
		"the first fault":                    {budget{}, fault(model.ErrConnection, 0), 0, true, 375 * time.Millisecond, 625 * time.Millisecond},
		"the longest delay":                  {budget{faults: 99, Retry: run.Retry{Retries: &[]int{200}[0]}}, fault(model.ErrConnection, 0), 0, true, 22 * time.Second, 30 * time.Second},
		"the second stall":                   {budget{stalls: 1}, fault(model.ErrStalled, 0), 0, true, 0, time.Minute},
		"the third stall":                    {budget{stalls: 2, faults: 1}, fault(model.ErrStalled, 0), 0, false, 0, time.Minute},
		"as often as was said":               {budget{faults: 1, Retry: run.Retry{Retries: &two}}, fault(model.ErrConnection, 0), 0, true, 0, time.Minute},
		"more often than was said":           {budget{faults: 2, Retry: run.Retry{Retries: &two}}, fault(model.ErrConnection, 0), 0, false, 0, time.Minute},
		"a wait as long as there is":         {budget{}, fault(model.ErrConnection, forever), 0, true, forever, forever},
		"a wait longer than there is":        {budget{}, fault(model.ErrConnection, forever+1), 0, false, 0, time.Hour},
		"no wait at all":                     {budget{Retry: run.Retry{RetryFor: -1}}, fault(model.ErrConnection, 0), 0, true, 0, time.Second},
		"an overload":                        {budget{}, fault(model.ErrOverloaded, 0), 0, true, 1500 * time.Millisecond, 2500 * time.Millisecond},
		"an overload that asks to wait":      {budget{}, fault(model.ErrRateLimit, 10*time.Second), 0, true, 10 * time.Second, 11 * time.Second},
		"an overload, at the last instant":   {budget{outages: 3}, fault(model.ErrOverloaded, time.Minute), forever - time.Minute, true, time.Minute, time.Minute + maxDelayJitter},
		"an overload, an instant later":      {budget{outages: 3}, fault(model.ErrOverloaded, time.Minute), forever - time.Minute + 1, false, 0, time.Hour},
		"an overload, as often as was said":  {budget{outages: 1, Retry: run.Retry{Retries: &two}}, fault(model.ErrOverloaded, 0), 24 * time.Hour, true, 0, time.Minute},
		"faults of two kinds, more often":    {budget{faults: 1, stalls: 1, Retry: run.Retry{Retries: &two}}, fault(model.ErrOverloaded, 0), 0, false, 0, time.Minute},
		"an overload, more often":            {budget{outages: 2, Retry: run.Retry{Retries: &two}}, fault(model.ErrOverloaded, 0), 0, false, 0, time.Minute},
		"the 49th failure":                   {budget{failures: 48}, fault(model.ErrConnection, 0), 0, true, 0, time.Minute},
		"the 50th failure":                   {budget{failures: 49}, fault(model.ErrConnection, 0), 0, false, 0, time.Minute},
		"a conflict":                         {budget{}, rollout(model.ErrConflict, "https://x/v1/chat/completions"), 0, true, 0, time.Minute},
		"a conflict of a rollout":            {budget{}, rollout(model.ErrConflict, "https://x/v1/rollouts/7"), 0, false, 0, time.Minute},
		"another fault of a rollout":         {budget{}, rollout(model.ErrConnection, "https://x/v1/rollouts/7"), 0, true, 0, time.Minute},
		"what would only fail again":         {budget{}, fault(model.ErrAuth, 0), 0, false, 0, 0},
		"what fails again, and asks to wait": {budget{}, fault(model.ErrAuth, time.Second), 0, false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := tt.budget
			b.Retry = withDefaults(b.Retry)
			b.outageStart = now.Add(-tt.at)
			d := b.decide(tt.fault, now)
			if d.retry != tt.retry || d.delay < tt.least || d.delay > tt.most {
				t.Errorf("got %+v", d)
			}
			if (d.exhausted == "") != (d.retry || !retryable(tt.fault)) {
				t.Errorf("it says %q", d.exhausted)
			}
		})
	}
}

// A server that does not listen on this machine is retried for 5 seconds, unless the user
// has said for how long.
func TestDecideNotListening(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e := model.NewError(model.ErrConnection, "no")
	e.Unreachable, e.NotListening = true, true
	for _, tt := range []struct {
		outages int
		at      time.Duration
		given   time.Duration // RetryFor
		retry   bool
		longest time.Duration // delay
	}{
		{0, 0, 0, true, 625 * time.Millisecond},
		{3, 3 * time.Second, 0, true, 2 * time.Second},
		{5, 4900 * time.Millisecond, 0, false, time.Minute},
		{1, 10 * time.Second, time.Minute, true, 5 * time.Second},
	} {
		b := budget{outages: tt.outages, outageStart: now.Add(-tt.at)}
		b.Retry = withDefaults(run.Retry{RetryFor: tt.given})
		if d := b.decide(e, now); d.retry != tt.retry || d.delay > tt.longest {
			t.Errorf("%+v: %+v", tt, d)
		}
	}
}

// The time of an outage counts from the first failure after a complete response.
func TestOutageTimeRestartsAfterResponse(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b := budget{Retry: withDefaults(run.Retry{})}
	e := model.NewError(model.ErrOverloaded, "no")
	for _, after := range []time.Duration{0, 9 * time.Minute} {
		if d := b.decide(e, now.Add(after)); !d.retry {
			t.Errorf("after %v: %+v", after, d)
		}
	}
	if d := b.decide(e, now.Add(10*time.Minute)); d.retry {
		t.Errorf("got %+v", d)
	}
	b.reset()
	if d := b.decide(e, now.Add(11*time.Minute)); !d.retry || d.attempt != 1 {
		t.Errorf("got %+v", d)
	}
}

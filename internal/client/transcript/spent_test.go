package transcript_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

func TestSpent(t *testing.T) {
	usage := event.Usage{Input: 12_345, CacheRead: 10_000, Output: 950}
	for want, sum := range map[string]event.Summary{
		"": {},
		"1 request, 2 calls, 1 denied, 12.3k tokens in (81% cached), 950 out, $0.0200": {
			Attempts: 1, Calls: 2, Denied: 1, Usage: usage, Cost: 0.02,
		},
		"2 requests, 12.3k tokens in (81% cached), 950 out": {
			Attempts: 2, Usage: usage, Cost: 0.02, Unpriced: 1,
		},
	} {
		if got := strings.Join(transcript.Spent(sum), ", "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The total of a session has its reviews, as the sums of its turns have.
func TestTotalIncludesReviews(t *testing.T) {
	request, review := 0.5, 0.25
	usage := event.Usage{Input: 100, Output: 5}
	s := event.State{Turns: []*event.Turn{{
		Attempts: []*event.Attempt{{End: &event.AttemptEnded{Usage: usage, Cost: &request}}, {}},
		Hooks:    []*event.Hook{{Ended: &event.HookEnded{Usage: &usage, Cost: &review}}, {}},
	}}}
	want := event.Summary{Attempts: 3, Usage: usage.Add(usage), Cost: 0.75}
	if got := transcript.Total(s); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

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

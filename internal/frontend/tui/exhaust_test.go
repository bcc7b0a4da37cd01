package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
)

// Exhausted retries take at most two rows, which people can read.
func TestExhaustedRetriesAreReadable(t *testing.T) {
	begun := time.Unix(0, 0)
	turn := &event.Turn{EndedAt: begun.Add(40 * time.Second)}
	for n := range 7 {
		turn.Attempts = append(turn.Attempts, &event.Attempt{StartedAt: begun.Add(time.Duration(n) * 4 * time.Second)})
	}
	f := &event.Failure{
		Name: event.NameRetryExhausted, Attempt: 5, RetryLimit: 4, URL: "http://127.0.0.1:1/v1/chat/completions",
		Message: "connection refused\n" + strings.Repeat("and more of it ", 40),
	}
	var text string
	rows := exhaustEntry(turn, f).rows(80)
	for _, row := range rows {
		for _, span := range row {
			text += span.Text
		}
	}
	if !strings.HasPrefix(text, "[retry-exhaust] 5 attempts in 32 s, last: connection refused") || len(rows) != 2 {
		t.Errorf("%d rows: %q", len(rows), text)
	}
}

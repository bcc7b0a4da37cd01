package transcript

import (
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal"
)

// Silence describes the model's silence for a person: its duration, and the time at which settle
// ends the attempt. Both are empty if the silence is short, or a call of the turn is running.
func Silence(t *event.Turn, now time.Time) (silent, ends string) {
	s, long := t.Silence(now)
	if !long {
		return "", ""
	}
	for _, i := range t.Items {
		if i.Status == event.ItemOpen && i.Started {
			return "", ""
		}
	}
	return SilenceWords(s)
}

// SilenceWords are a silence in words: "model silent for 45 s", "cut after 3m".
func SilenceWords(s event.Silence) (silent, ends string) {
	silent = "no answer for "
	if s.Answered {
		silent = "model silent for "
	}
	silent += terminal.Duration(s.For.Truncate(time.Second))
	if s.Limit > 0 {
		ends = "cut after " + terminal.Duration(s.Limit)
	}
	return silent, ends
}

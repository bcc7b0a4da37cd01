package turn

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/settle-agent/settle/event"
)

const (
	defaultRepeats = 10
	// slowCall is the run time above which a call does not count as a repeat: a slow call that
	// is repeated polls for something.
	slowCall = 5 * time.Second
)

// guardRepeats counts calls that returned the same result as the same call in an earlier step.
// The model is warned at the 3rd and 5th repeat; the limit ends the turn.
func (t *turn) guardRepeats(calls []*call) error {
	limit := t.Limits.Repeats
	if limit == 0 {
		limit = defaultRepeats
	}
	if limit < 0 {
		return nil
	}
	for key, name := range t.results(calls) {
		t.repeats[key]++
		n := t.repeats[key]
		switch {
		case n >= limit:
			return event.AbortLimit(event.LimitRepeats, fmt.Sprintf(
				"%q was called with the same arguments and gave the same result %d times", name, n,
			))
		case n == 3 || n == 5:
			if err := t.note(fmt.Sprintf("You have called %q %d times with the same arguments, and it gave the "+
				"same result each time. "+
				"Do something else, or finish. After %d times the turn is ended.", name, n, limit)); err != nil {
				return err
			}
		}
	}
	return nil
}

// results returns the calls that count, each combination of call and result once: calls of one
// step are not repeats of one another.
func (t *turn) results(calls []*call) map[[32]byte]string {
	out := map[[32]byte]string{}
	t.Log.View(func(s event.State) {
		running := s.Running()
		for _, c := range calls {
			i := running.Item(c.item)
			if i.Status == event.ItemAborted ||
				c.elapsed > slowCall { // by the monotonic clock: the times of events may jump
				continue
			}
			content := i.Content()
			out[sha256.Sum256(fmt.Appendf(nil, "%q %q %q", content.Name, content.Arguments, content.Output))] = content.Name
		}
	})
	return out
}

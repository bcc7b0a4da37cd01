package turn

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/settle-agent/settle/event"
)

const (
	defaultRepeats = 10
	// slowCall is what a call must take not to count: whoever polls with a
	// slow call is waiting for something.
	slowCall = 5 * time.Second
)

// guardRepeats counts calls that gave what the same call gave in an earlier
// step. The model is told at the 3rd and 5th; at the limit the turn ends.
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
			return event.AbortLimit(event.LimitRepeats, fmt.Sprintf("%q was called with the same arguments and gave the same result %d times", name, n))
		case n == 3 || n == 5:
			if err := t.note(fmt.Sprintf("You have called %q %d times with the same arguments, and it gave the same result each time. "+
				"Do something else, or finish. After %d times the turn is ended.", name, n, limit)); err != nil {
				return err
			}
		}
	}
	return nil
}

// results returns the calls that count, each combination once: calls made side
// by side are not repeats of one another.
func (t *turn) results(calls []*call) map[[32]byte]string {
	out := map[[32]byte]string{}
	t.Log.View(func(s event.State) {
		running := s.Running()
		for _, c := range calls {
			i := running.Item(c.item)
			if i.Status == event.ItemAborted || c.elapsed > slowCall { // the events' times are those of a clock that may jump
				continue
			}
			said := i.Content()
			out[sha256.Sum256(fmt.Appendf(nil, "%q %q %q", said.Name, said.Arguments, said.Output))] = said.Name
		}
	})
	return out
}

package turn

import (
	"context"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
)

// await waits for the calls to settle, in parallel as they run, or returns
// context.Cause(ctx). Each call is bounded by its own timeout. Results keep
// the order of the calls: the log has them by item.
func await(ctx context.Context, calls []*call) error {
	for _, c := range calls {
		if _, err := c.settled.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// decideTimeout is how long a failed attempt waits for the log to say which of
// its calls have started: a durable write each. A call that a person is still
// asked about is not waited for any longer.
const decideTimeout = time.Second

// awaitStarts waits until it is in the log whether each of the attempt's calls
// runs: a call that was complete when the response broke is done once, and its
// result is part of what the next attempt continues from.
func (t *turn) awaitStarts(ctx context.Context, attempt string) {
	bound, cancel := context.WithTimeout(ctx, decideTimeout)
	defer cancel()
	for _, c := range t.calls {
		if c.attempt == attempt {
			_, _ = c.decided.Wait(bound) // ctx's end is the caller's to see
		}
	}
}

// settleCalls is the turn's first finalizer: it cancels all calls that still
// run and waits for all of them at once. Each ends within the grace and a
// margin; what has not ended by then is for event.Endings to close.
func (t *turn) settleCalls(ctx context.Context, exit error) error {
	t.cancel(t.causeOf(exit, nil))
	bound := time.NewTimer(t.InterruptGrace + clearMargin)
	defer bound.Stop()
	for _, c := range t.calls {
		select {
		case <-c.settled.Done():
		case <-bound.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// cancelEnded cancels the calls whose ending is in the log already: a failed
// attempt discarded them before they started.
func (t *turn) cancelEnded() {
	t.Log.View(func(s event.State) {
		for _, c := range t.calls {
			if !c.open(s) {
				c.cancel(errAttemptOver)
			}
		}
	})
}

// Calls are the calls that run just now, so that one can be cancelled alone.
// The zero value is ready; a nil Calls keeps none.
type Calls struct {
	mu      sync.Mutex
	running map[string]*call // by item
}

// Cancel cancels the call with the item's id and reports whether it runs.
// The call ends like any other and the turn goes on.
func (c *Calls) Cancel(item string, cause *event.Cause) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.running[item]
	if x == nil {
		return false
	}
	x.cancel(cause)
	return true
}

func (c *Calls) add(x *call) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		c.running = map[string]*call{}
	}
	c.running[x.item] = x
}

func (c *Calls) remove(x *call) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, x.item)
}

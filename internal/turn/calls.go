package turn

import (
	"context"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
)

// await waits until all calls are settled, or returns context.Cause(ctx). The calls run in
// parallel, and each has its own timeout. Results keep the order of the calls: the log has
// them by item.
func await(ctx context.Context, calls []*call) error {
	for _, c := range calls {
		if _, err := c.settled.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// decideTimeout bounds the wait of a failed attempt until the log shows which of its calls have
// started; each start is a durable write. Calls that wait for an approval are not awaited longer.
const decideTimeout = time.Second

// awaitStarts waits until the log has the decision about each of the attempt's calls. A call that
// was complete before the response broke runs once, and the next attempt continues with its result.
func (t *turn) awaitStarts(ctx context.Context, attempt string) {
	bound, cancel := context.WithTimeout(ctx, decideTimeout)
	defer cancel()
	for _, c := range t.calls {
		if c.attempt == attempt {
			_, _ = c.decided.Wait(bound) // the caller checks ctx
		}
	}
}

// settleCalls is the turn's first finalizer: it cancels all running calls and waits for all of
// them at once. Each call ends within the grace and a margin; event.Endings closes the rest.
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

// cancelEnded cancels the calls that a failed attempt discarded before they started.
func (t *turn) cancelEnded() {
	t.Log.View(func(s event.State) {
		for _, c := range t.calls {
			if !c.open(s) {
				c.cancel(errAttemptOver)
			}
		}
	})
}

// Calls are the running calls of a session, so that a client can cancel a single call. The
// zero value is ready; a nil Calls keeps none.
type Calls struct {
	mu      sync.Mutex
	running map[string]*call // by item
}

// Cancel cancels the call of the item and reports whether the call is running. The call ends
// like any other, and the turn continues.
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

package agent

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/settle-agent/settle/internal/journal"
)

const (
	heldTimeout = 3 * time.Second
	heldDelay   = 50 * time.Millisecond
)

// OpenPatiently opens the session as Open does, and waits for another process to
// let go of it: a client that starts anew is faster than the end of what it ran
// before. A process that is stopped is not waited for.
func (h *Hosts) OpenPatiently(ctx context.Context, id string, w Wish) (*Opened, error) {
	began, patience := time.Now(), cmp.Or(h.HeldTimeout, heldTimeout)
	for {
		opened, err := h.Open(ctx, id, w)
		var held *journal.HeldError
		if !errors.As(err, &held) || held.Stopped || time.Since(began) > patience {
			return opened, err
		}
		select {
		case <-time.After(heldDelay):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

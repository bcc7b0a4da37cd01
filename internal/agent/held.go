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
// let go of it.
func (h *Hosts) OpenPatiently(ctx context.Context, id string, w Wish) (*Opened, error) {
	return Patiently(ctx, h.HeldTimeout, func() (*Opened, error) { return h.Open(ctx, id, w) })
}

// Patiently opens a session, and again for as long as another process holds it
// and patience lasts; 0 means 3 seconds. A client that starts anew is faster
// than the end of what it ran before. A process that is stopped is not waited for.
func Patiently[T any](ctx context.Context, patience time.Duration, open func() (T, error)) (T, error) {
	began, patience := time.Now(), cmp.Or(patience, heldTimeout)
	for {
		opened, err := open()
		var held *journal.HeldError
		if !errors.As(err, &held) || held.Stopped || time.Since(began) > patience {
			return opened, err
		}
		select {
		case <-time.After(heldDelay):
		case <-ctx.Done():
			return opened, context.Cause(ctx)
		}
	}
}

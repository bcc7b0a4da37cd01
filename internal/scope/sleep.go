package scope

import (
	"context"
	"time"
)

// Sleep waits for d, or returns context.Cause(ctx) as soon as ctx ends (C13).
func Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

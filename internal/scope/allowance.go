package scope

import (
	"context"
	"sync"
	"time"
)

// Allowance is a bounded time for an operation. It does not pass while it is held.
type Allowance struct {
	mu    sync.Mutex // guards the fields below
	timer *time.Timer
	began time.Time // start of the time that passes now
	left  time.Duration
	holds int
}

// WithAllowance returns a context that ends with the cause once the time has passed.
func WithAllowance(
	ctx context.Context, d time.Duration, cause error,
) (context.Context, *Allowance, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	a := &Allowance{left: d, began: time.Now()}
	a.timer = time.AfterFunc(d, func() { cancel(cause) })
	return ctx, a, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.timer.Stop()
		a.holds++ // nothing starts it again
		cancel(context.Canceled)
	}
}

// Hold stops the time until it is released, such as while a person is asked. The
// release must be called once.
func (a *Allowance) Hold() (release func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.holds++; a.holds == 1 && a.timer.Stop() {
		a.left = max(a.left-time.Since(a.began), 0)
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.holds--; a.holds == 0 {
			a.began = time.Now()
			a.timer.Reset(a.left)
		}
	}
}

package model

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/scope"
)

// Limiter is shared by the sessions that use one provider key: if the provider asks one
// session to wait, all others also wait, and resume at different times. The zero value is
// ready; a nil Limiter never waits.
type Limiter struct {
	// OnHold, if set, is called when the provider asks a session to wait, so that it can
	// pass the time to [Limiter.Join] in other processes with the key. It must not block.
	OnHold func(until time.Time)

	mu    sync.Mutex
	until time.Time
}

// spread is over how long sessions that were held come back.
const spread = 2 * time.Second

// Hold makes all sessions wait until the time, and calls OnHold.
func (l *Limiter) Hold(until time.Time) {
	if l == nil {
		return
	}
	l.Join(until)
	if l.OnHold != nil {
		l.OnHold(until)
	}
}

// Join is Hold for a request to another process.
func (l *Limiter) Join(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until.After(l.until) {
		l.until = until
	}
}

// Wait returns when a request can be sent, or context.Cause(ctx). It waits at most the
// duration: the provider can ask other sessions to wait again and again.
func (l *Limiter) Wait(ctx context.Context, limit time.Duration) error {
	for begin := time.Now(); ; {
		left := l.left()
		if left <= 0 {
			return nil
		}
		rest := limit - time.Since(begin)
		if rest <= 0 {
			return nil
		}
		left += time.Duration(rand.Int64N(int64(spread))) // jitter is no secret
		if err := scope.Sleep(ctx, min(left, rest)); err != nil {
			return err
		}
	}
}

func (l *Limiter) left() time.Duration {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.until)
}

package turn_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// A delay that ends one session's turn at once does not hold the other sessions.
func TestEndedTurnHoldsNoSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		absurd := model.NewError(model.ErrRateLimit, "come back tomorrow")
		absurd.RetryAfter = 24 * time.Hour
		limiter := &model.Limiter{}
		first, second := newBench(t, script.New(script.Fail(absurd))), newBench(t, script.New(script.Text("ok")))
		first.config.Model.Limiter, second.config.Model.Limiter = limiter, limiter
		first.run(t.Context())
		begin := time.Now()
		second.run(t.Context())
		if took := time.Since(begin); took > 10*time.Minute {
			t.Errorf("held for %v", took)
		}
	})
}

// Sessions with the same key wait if the provider asks one of them to wait, and for no other
// fault.
func TestLimiterHoldsSessionsOfTheKey(t *testing.T) {
	for kind, least := range map[model.ErrorKind]time.Duration{model.ErrRateLimit: 30 * time.Second, model.ErrConnection: 0} {
		synctest.Test(t, func(t *testing.T) {
			fault := model.NewError(kind, "no")
			fault.RetryAfter = 30 * time.Second
			limiter := &model.Limiter{}
			first, second := newBench(
				t,
				script.New(script.Fail(fault), script.Text("ok")),
			), newBench(
				t,
				script.New(script.Text("ok")),
			)
			first.config.Model.Limiter, second.config.Model.Limiter = limiter, limiter
			done := make(chan struct{})
			go func() { // ends with its turn
				defer close(done)
				first.run(t.Context())
			}()
			synctest.Wait()
			begin := time.Now()
			second.run(t.Context())
			if took := time.Since(begin); took < least || least == 0 && took > time.Second {
				t.Errorf("%s: held for %v", kind, took)
			}
			<-done
		})
	}
}

// Each other session is refused in its turn.
func TestRepeatedHoldsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &model.Limiter{}
		begin := time.Now()
		for at := time.Duration(0); at < time.Hour; at += 30 * time.Second {
			time.AfterFunc(at, func() { l.Hold(time.Now().Add(time.Minute)) })
		}
		time.Sleep(time.Second)
		if err := l.Wait(t.Context(), 5*time.Minute); err != nil || time.Since(begin) > 6*time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

// A session that waits continues to wait if the hold is extended, and stops at once if its
// turn ends.
func TestHoldsAreExtended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &model.Limiter{}
		begin := time.Now()
		l.Hold(begin.Add(10 * time.Second))
		time.AfterFunc(5*time.Second, func() { l.Hold(begin.Add(time.Minute)) })
		if err := l.Wait(t.Context(), time.Hour); err != nil || time.Since(begin) < time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		l.Hold(time.Now().Add(time.Hour))
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("stop")
		begin = time.Now()
		time.AfterFunc(5*time.Second, func() { cancel(stop) })
		if err := l.Wait(ctx, 2*time.Hour); !errors.Is(err, stop) || time.Since(begin) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

// Sessions that were held do not continue at the same instant.
func TestNoBurst(t *testing.T) {
	const sessions = 20
	for name, after := range map[string]time.Duration{"short": time.Second, "long": 30 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				came := map[time.Duration]int{}
				come := func(d time.Duration) {
					mu.Lock()
					defer mu.Unlock()
					came[d]++
				}
				l := &model.Limiter{}
				begin := time.Now()
				l.Hold(begin.Add(after))
				var wg sync.WaitGroup
				for range sessions {
					wg.Go(func() {
						if err := l.Wait(t.Context(), time.Hour); err != nil {
							t.Error(err)
						}
						come(time.Since(begin))
					})
				}
				wg.Wait()
				if len(came) < sessions/2 {
					t.Errorf("held: they came at %v", came)
				}
				clear(came)
				for range sessions {
					e := model.NewError(model.ErrRateLimit, "slow down")
					e.RetryAfter = after
					b := newBench(t, script.New(script.Fail(e), script.Text("ok")))
					b.config.Model.Limiter = l
					id := b.start()
					wg.Go(func() {
						if _, err := turn.Run(t.Context(), &b.config, id); err != nil {
							t.Error(err)
						}
						come(b.last().Attempts[1].StartedAt.Sub(b.last().Attempts[0].EndedAt))
					})
				}
				wg.Wait()
				if len(came) < sessions/2 {
					t.Errorf("told: they came at %v", came)
				}
				for d := range came {
					if d < after {
						t.Errorf("came back after %v, was told %v", d, after)
					}
				}
			})
		})
	}
}

package scope

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var errBody, errStop = errors.New("body"), errors.New("stop")

// exits are the ways out of a body.
var exits = map[string]struct {
	body func(ctx context.Context, cancel context.CancelCauseFunc) error
	is   error
}{
	"return": {func(context.Context, context.CancelCauseFunc) error { return nil }, nil},
	"error":  {func(context.Context, context.CancelCauseFunc) error { return errBody }, errBody},
	"panic":  {func(context.Context, context.CancelCauseFunc) error { panic(errBody) }, errBody},
	"cancelled": {func(ctx context.Context, cancel context.CancelCauseFunc) error {
		cancel(errStop)
		return context.Cause(ctx)
	}, errStop},
}

func TestFinalizersRunOnceInReverseOnEveryPath(t *testing.T) {
	for name, tc := range exits {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			var ran []int
			err := Run(ctx, time.Minute, func(ctx context.Context, s *Scope) error {
				for n := range 3 {
					s.Ensure(func(clean context.Context, exit error) error {
						ran = append(ran, n)
						if clean.Err() != nil {
							t.Errorf("finalizer %d: its context is cancelled: %v", n, context.Cause(clean))
						}
						if _, ok := clean.Deadline(); !ok {
							t.Errorf("finalizer %d: its context has no deadline", n)
						}
						if !errors.Is(exit, tc.is) {
							t.Errorf("finalizer %d: exit = %v, want %v", n, exit, tc.is)
						}
						return nil
					})
				}
				return tc.body(ctx, cancel)
			})
			if !slices.Equal(ran, []int{2, 1, 0}) {
				t.Errorf("ran %v", ran)
			}
			if !errors.Is(err, tc.is) {
				t.Errorf("err = %v, want %v", err, tc.is)
			}
		})
	}
}

func TestOnInterruptOnlyWhenTheBodyGaveWay(t *testing.T) {
	cases := map[string]struct {
		body func(context.Context, context.CancelCauseFunc) error
		want error
	}{
		"returned":    {exits["return"].body, nil},
		"failed":      {exits["error"].body, nil},
		"panicked":    {exits["panic"].body, nil},
		"interrupted": {exits["cancelled"].body, errStop},
		"failed, then cancelled": {
			func(_ context.Context, cancel context.CancelCauseFunc) error { cancel(errStop); return errBody },
			nil,
		},
		"completed all the same": {
			func(_ context.Context, cancel context.CancelCauseFunc) error { cancel(errStop); return nil },
			nil,
		},
		"interrupted and wrapped": {func(_ context.Context, cancel context.CancelCauseFunc) error {
			cancel(errStop)
			return errors.Join(errStop)
		}, errStop},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			var got error
			_ = Run(ctx, time.Minute, func(ctx context.Context, s *Scope) error {
				s.OnInterrupt(ctx, func(_ context.Context, cause error) error { got = cause; return nil })
				return tc.body(ctx, cancel)
			})
			if !errors.Is(got, tc.want) {
				t.Errorf("got cause %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAFailingFinalizerKeepsNoOtherFromRunning(t *testing.T) {
	errFirst, ran := errors.New("first"), 0
	err := Run(t.Context(), time.Minute, func(_ context.Context, s *Scope) error {
		s.Ensure(func(context.Context, error) error { ran++; return errFirst })
		s.Ensure(func(context.Context, error) error { ran++; panic("second") })
		s.Ensure(func(context.Context, error) error { ran++; return nil })
		return errBody
	})
	var p *PanicError
	if ran != 3 || !errors.Is(err, errFirst) || !errors.Is(err, errBody) || !errors.As(err, &p) || len(p.Stack) == 0 {
		t.Errorf("ran %d, err %v", ran, err)
	}
}

func TestScopesNest(t *testing.T) {
	var order []string
	note := func(s string) func(context.Context, error) error {
		return func(context.Context, error) error { order = append(order, s); return nil }
	}
	err := Run(t.Context(), time.Minute, func(ctx context.Context, outer *Scope) error {
		outer.Ensure(note("outer"))
		return Run(ctx, time.Minute, func(_ context.Context, inner *Scope) error {
			inner.Ensure(note("inner 1"))
			inner.Ensure(note("inner 2"))
			return errBody
		})
	})
	if diff := cmp.Diff([]string{"inner 2", "inner 1", "outer"}, order); diff != "" || !errors.Is(err, errBody) {
		t.Errorf("%s%v", diff, err)
	}
}

func TestCleanUpHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		err := Run(t.Context(), 3*time.Second, func(_ context.Context, s *Scope) error {
			s.Ensure(func(ctx context.Context, _ error) error { <-ctx.Done(); return ctx.Err() })
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

func TestDeferredTakesTheFirstSettlement(t *testing.T) {
	d := NewDeferred[int]()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var won []int
	for n := range 20 {
		wg.Go(func() {
			if d.Settle(n) {
				mu.Lock()
				won = append(won, n)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	got, err := d.Wait(t.Context())
	if len(won) != 1 || err != nil || got != won[0] {
		t.Errorf("winners %v, value %d, err %v", won, got, err)
	}
}

func TestDeferredReadyBeatsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	d := NewDeferred[string]()
	if _, err := d.Wait(ctx); !errors.Is(err, errStop) {
		t.Errorf("unsettled: err = %v, want the cause", err)
	}
	d.Settle("ready")
	for range 100 {
		if v, err := d.Wait(ctx); v != "ready" || err != nil {
			t.Fatalf("settled: %q, %v", v, err)
		}
	}
}

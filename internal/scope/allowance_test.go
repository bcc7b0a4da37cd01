package scope

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnAllowanceDoesNotPassWhileItIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := errors.New("over")
		ctx, a, cancel := WithAllowance(t.Context(), 10*time.Second, over)
		defer cancel()
		began := time.Now()
		time.Sleep(4 * time.Second)
		first, second := a.Hold(), a.Hold()
		time.Sleep(time.Hour)
		first()
		time.Sleep(time.Hour)
		second()
		<-ctx.Done()
		if took := time.Since(began); took != 2*time.Hour+10*time.Second || !errors.Is(context.Cause(ctx), over) {
			t.Errorf("it ended after %v: %v", took, context.Cause(ctx))
		}
	})
}

func TestAnAllowanceEndsWithItsCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, a, cancel := WithAllowance(t.Context(), time.Second, errors.New("over"))
		release := a.Hold()
		cancel()
		release()
		time.Sleep(time.Minute)
		if !errors.Is(context.Cause(ctx), context.Canceled) {
			t.Errorf("the cause is %v", context.Cause(ctx))
		}
	})
}

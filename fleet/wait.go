package fleet

import (
	"context"
	"fmt"
	"time"
)

// awaitDelay is how often it is looked whether units have ended.
const awaitDelay = 100 * time.Millisecond

// Await waits until no unit is open; open counts them.
func Await(ctx context.Context, open func(context.Context) (int, error)) error {
	for {
		n, err := open(ctx)
		if err == nil && n == 0 {
			return nil
		}
		select {
		case <-time.After(awaitDelay):
		case <-ctx.Done():
			if err == nil {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("%d units have not ended: %w", n, err)
		}
	}
}

package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// awaitDelay is the wait between two queries for open tasks.
const awaitDelay = 100 * time.Millisecond

// Await waits until no task is open; open counts them.
func Await(ctx context.Context, open func(context.Context) (int, error)) error {
	status := "the number of open tasks is unknown"
	for {
		n, err := open(ctx)
		switch {
		case err == nil && n == 0:
			return nil
		case err == nil:
			status = fmt.Sprintf("%d tasks have not ended", n)
		}
		select {
		case <-time.After(awaitDelay):
		case <-ctx.Done():
			if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("%s: %w", status, err)
		}
	}
}

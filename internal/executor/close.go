package executor

import (
	"context"
	"fmt"
	"time"
)

// Close ends all commands there and closes the connection. If the executor is unreachable, the
// error states when it ends them by itself.
func (r *Remote) Close(ctx context.Context) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		<-r.done
		return nil
	}
	r.closed = true
	unreachable, busy := r.unreachable != nil, len(r.starting)+len(r.running) > 0
	if !unreachable {
		r.last++
		r.link.push(kindFinish, r.last, nil)
	}
	done := r.link
	r.signal()
	r.mu.Unlock()
	var err error
	reached := false
	if !unreachable {
		reached, err = r.awaitPeerDone(ctx, done)
	}
	if !reached && busy && err == nil {
		err = fmt.Errorf(
			"cannot reach the executor to end its commands; it ends them by itself within %v", r.config.Lease,
		)
	}
	r.close()
	<-r.done // dial and the stream end with closing
	return err
}

// peerDoneTimeout is the time that Close waits for an interrupted stream to reconnect.
const peerDoneTimeout = 500 * time.Millisecond

// awaitPeerDone waits until the executor has ended everything. It reports true if the executor
// confirmed that over the link, or has died and was replaced.
func (r *Remote) awaitPeerDone(ctx context.Context, done *link) (bool, error) {
	var up <-chan time.Time
	for {
		r.mu.Lock()
		unreachable, replaced, attached, changed := r.unreachable != nil, r.link != done, done.attached(), r.changed
		r.mu.Unlock()
		switch {
		case unreachable:
			return false, nil
		case replaced:
			return true, nil
		case attached:
			up = nil
		case up == nil:
			up = time.After(peerDoneTimeout)
		}
		select {
		case <-r.peerDone:
			return true, nil
		case <-changed:
		case <-up:
			return false, nil
		case <-ctx.Done():
			return false, fmt.Errorf(
				"cannot wait for the executor: %w; it ends its commands by itself within %v", context.Cause(ctx),
				r.config.Lease,
			)
		}
	}
}

package executor

import (
	"context"
	"fmt"
	"time"
)

// Close ends everything there and lets go of the hands. Where they cannot be
// reached, it says when they do so by themselves.
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
		err = fmt.Errorf("cannot reach the hands to end what runs there; they end it by themselves within %v", r.config.Lease)
	}
	r.close()
	<-r.done // dial and the stream end with closing
	return err
}

// byeTimeout is how long Close waits for a stream that is cut to come back.
const peerDoneTimeout = 500 * time.Millisecond

// awaitPeerDone waits until the hands have ended everything, and reports whether they have
// stderr so over their link, or are dead and others are there.
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
			return false, fmt.Errorf("cannot wait for the hands: %w; they end what runs there by themselves within %v", context.Cause(ctx), r.config.Lease)
		}
	}
}

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
	away, busy := r.away != nil, len(r.starting)+len(r.running) > 0
	if !away {
		r.last++
		r.link.push(kindBye, r.last, nil)
	}
	over := r.link
	r.signal()
	r.mu.Unlock()
	var err error
	reached := false
	if !away {
		reached, err = r.awaitBye(ctx, over)
	}
	if !reached && busy && err == nil {
		err = fmt.Errorf("cannot reach the hands to end what runs there; they end it by themselves within %v", r.config.Lease)
	}
	r.close()
	<-r.done // dial and the stream end with closing
	return err
}

// byeTimeout is how long Close waits for a stream that is cut to come back.
const byeTimeout = 500 * time.Millisecond

// awaitBye waits until the hands have ended everything, and reports whether they have
// said so over their link, or are dead and others are there.
func (r *Remote) awaitBye(ctx context.Context, over *link) (bool, error) {
	var up <-chan time.Time
	for {
		r.mu.Lock()
		away, others, attached, changed := r.away != nil, r.link != over, over.attached(), r.changed
		r.mu.Unlock()
		switch {
		case away:
			return false, nil
		case others:
			return true, nil
		case attached:
			up = nil
		case up == nil:
			up = time.After(byeTimeout)
		}
		select {
		case <-r.bye:
			return true, nil
		case <-changed:
		case <-up:
			return false, nil
		case <-ctx.Done():
			return false, fmt.Errorf("cannot wait for the hands: %w; they end what runs there by themselves within %v", context.Cause(ctx), r.config.Lease)
		}
	}
}

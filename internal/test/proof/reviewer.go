package proof

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
)

// doubtfulReviewer is a reviewer that mostly gives a verdict.
type doubtfulReviewer struct {
	mu   sync.Mutex // guards draw
	draw *rand.Rand
}

// Model implements [approval.Reviewer].
func (*doubtfulReviewer) Model() string { return "reviewer" }

// Timeout implements [approval.Reviewer].
func (*doubtfulReviewer) Timeout() time.Duration { return 20 * time.Second }

// Review implements [approval.Reviewer].
func (d *doubtfulReviewer) Review(ctx context.Context, _ approval.ReviewRequest) (r approval.Review, err error) {
	d.mu.Lock()
	n := d.draw.IntN(10)
	d.mu.Unlock()
	r.Usage = &event.Usage{Input: 100, Output: 10}
	switch n {
	case 0:
		return approval.Review{}, errors.New("the reviewer failed: " + Secret)
	case 1:
		panic("the reviewer panicked: " + Secret)
	case 2:
		<-ctx.Done()
		return r, context.Cause(ctx)
	case 3:
		r.Allow = true
		return r, errors.New("the verdict was cut")
	case 4, 5, 6:
		r.Reason = "it is odd: " + Secret
		return r, nil
	}
	select {
	case <-time.After(time.Duration(n) * 300 * time.Millisecond):
	case <-ctx.Done():
	}
	r.Allow, r.Reason = true, "it is harmless"
	return r, nil
}

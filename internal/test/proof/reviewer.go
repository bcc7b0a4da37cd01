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

// reviewer returns the script's reviewer, or, if it has hooks, a reviewer that follows from their
// seed; nil for none.
func (w *world) reviewer(hooks int) approval.Reviewer {
	switch {
	case len(w.script.Reviews) > 0:
		return scriptedReviewer{world: w}
	case hooks != 0:
		return &doubtfulReviewer{draw: rand.New(rand.NewPCG(uint64(hooks), 3))} // the same again
	}
	return nil
}

// scriptedReviewer gives the verdicts of the script, in order.
type scriptedReviewer struct {
	*doubtfulReviewer // its name and timeout

	world *world
}

// Review implements [approval.Reviewer].
func (r scriptedReviewer) Review(ctx context.Context, _ approval.ReviewRequest) (approval.Review, error) {
	w := r.world
	w.pass(inHook)
	w.mu.Lock()
	given := w.script.Reviews[min(w.reviewCount, len(w.script.Reviews)-1)]
	w.reviewCount++
	w.mu.Unlock()
	verdict := approval.Review{Reason: "it is odd: " + Secret, Usage: &event.Usage{Input: 100, Output: 10}}
	select {
	case <-time.After(given.After):
	case <-ctx.Done():
		return verdict, context.Cause(ctx)
	}
	switch given.Kind {
	case Allows:
		verdict.Allow, verdict.Reason = true, "it is harmless"
	case Fails:
		return verdict, errors.New("the reviewer failed: " + Secret)
	case Stalls:
		<-ctx.Done()
		return verdict, context.Cause(ctx)
	}
	return verdict, nil
}

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

package stdio

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
)

// The bounds of an end at standard streams: with what comes before and after, it
// takes less than the second and a half that clients give an agent.
const (
	// CloseTimeout bounds the end of all sessions, DrainTimeout then what there is
	// to say about it.
	CloseTimeout = 1100 * time.Millisecond
	DrainTimeout = 200 * time.Millisecond
	// ExitTimeout is from the first stop to the process's end, whatever is in the
	// way.
	ExitTimeout = 1400 * time.Millisecond
)

// Ladder ends everything that a face has running:
//
//	first stop ─► Close: turns are ended, with grace, and sessions are closed
//	second ─────► Hurry: running calls have no grace any more
//	third ──────► nothing is waited for; what did not end is named
//	Timeout ────► the same
type Ladder struct {
	// Close ends everything. ctx bounds it.
	Close func(ctx context.Context, reason event.Reason, by string) error
	// Hurry takes the grace of running calls away. It need not wait.
	Hurry func(ctx context.Context, stop Stop)
	// Timeout is [CloseTimeout] if it is 0.
	Timeout time.Duration
	// Stops bring the second stop and the third.
	Stops <-chan Stop
}

var errGivenUp = errors.New("it was stopped for the third time")

// Descend ends everything because of the first stop, and returns what did not
// end.
func (l Ladder) Descend(first Stop) error {
	if l.Timeout == 0 {
		l.Timeout = CloseTimeout
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), l.Timeout, fmt.Errorf("it took longer than %v", l.Timeout))
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	go func() { // ends with Descend
		for hurried := false; ; hurried = true {
			select {
			case stop := <-l.Stops:
				if hurried {
					giveUp(errGivenUp)
					return
				}
				l.Hurry(ctx, stop)
			case <-ctx.Done():
				return
			}
		}
	}()
	return l.Close(ctx, first.Reason, first.By)
}

// Interrupter is a session, or a turn of one.
type Interrupter interface {
	Interrupt(ctx context.Context, i settle.Interruption) (settle.Outcome, error)
}

// Hurry is [Ladder.Hurry] for the sessions that are open.
func Hurry[S Interrupter](sessions func() []S) func(context.Context, Stop) {
	return func(ctx context.Context, stop Stop) {
		for _, s := range sessions() {
			go func() { // ends with the turn, or with ctx
				_, _ = s.Interrupt(ctx, settle.Interruption{Reason: stop.Reason, By: stop.By, Hurry: true}) // the turn's end says how
			}()
		}
	}
}

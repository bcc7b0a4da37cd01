package stdio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
)

// The bounds of a shutdown at standard streams. Together with the steps before and after,
// they take less than the 1.5 s that clients give an agent.
const (
	// CloseTimeout bounds the end of all sessions, DrainTimeout the output of their last
	// messages.
	CloseTimeout = 1100 * time.Millisecond
	DrainTimeout = 200 * time.Millisecond
	// exitGrace is the process's time to exit after the shutdown.
	exitGrace = time.Second
)

// Shutdown ends all sessions of a frontend:
//
//	first stop ─► Close: turns end with grace, and sessions close
//	           ─► Drain: the last messages are written
//	second ─────► Hurry: running calls lose their grace
//	third ──────► no further wait; the error names what did not end
//
// After the first stop, only stops for which [Stop.Insists] holds count.
type Shutdown struct {
	// Close ends everything. ctx bounds it by Timeout.
	Close func(ctx context.Context, reason event.Reason, by string) error
	// Hurry takes the grace of running calls away. It need not wait.
	Hurry func(ctx context.Context, stop Stop)
	// Drain, if set, writes the last messages. DrainTimeout and the rest of Timeout bound
	// ctx.
	Drain func(ctx context.Context)
	// Timeout is [CloseTimeout] if it is 0, and DrainTimeout [DrainTimeout].
	Timeout, DrainTimeout time.Duration
	// Stops bring the second stop and the third.
	Stops <-chan Stop
	// Exit, if set, ends the process where something is in the way, such as a disk
	// that hangs: a second after everything else has had its time.
	Exit func(code int)
}

var errGivenUp = errors.New("it was stopped for the third time")

// Run shuts down because of the first stop, and returns an error that names the work that did not
// end.
func (s Shutdown) Run(first Stop) error {
	timeout, drain := cmp.Or(s.Timeout, CloseTimeout), cmp.Or(s.DrainTimeout, DrainTimeout)
	if s.Exit != nil {
		// the process ends before, if it can
		time.AfterFunc(timeout+drain+exitGrace, func() { s.Exit(cmp.Or(first.Code, CodeFailed)) })
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout+drain)
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	go s.listen(ctx, giveUp) // ends with Run
	closing, closed := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it took longer than %v", timeout))
	defer closed()
	err := s.Close(closing, first.Reason, first.By)
	if s.Drain != nil {
		s.Drain(ctx)
	}
	return err
}

// listen takes further stops until ctx ends.
func (s Shutdown) listen(ctx context.Context, giveUp context.CancelCauseFunc) {
	for hurried := false; ; {
		select {
		case stop := <-s.Stops:
			switch {
			case !stop.Insists():
			case hurried:
				giveUp(errGivenUp)
				return
			default:
				s.Hurry(ctx, stop)
				hurried = true
			}
		case <-ctx.Done():
			return
		}
	}
}

// Await waits for wait to return, and reports whether it did before ctx ended.
func Await(ctx context.Context, wait func()) bool {
	done := make(chan struct{})
	go func() { // ends with wait, or with the process
		defer close(done)
		wait()
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// Interrupter is a session, or a turn of one.
type Interrupter interface {
	Interrupt(ctx context.Context, i settle.Interruption) (settle.Outcome, error)
}

// Hurry is [Shutdown.Hurry] for the sessions that are open.
func Hurry[S Interrupter](sessions func() []S) func(context.Context, Stop) {
	return func(ctx context.Context, stop Stop) {
		for _, s := range sessions() {
			go func() { // ends with the turn, or with ctx
				// the turn's end has the outcome
				_, _ = s.Interrupt(ctx, settle.Interruption{Reason: stop.Reason, By: stop.By, Hurry: true})
			}()
		}
	}
}

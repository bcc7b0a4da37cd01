package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/proc"
)

// signals receives the signals that end a command. The first signal cancels ctx; all
// signals go to stops, which end the turn.
type signals struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	caught chan os.Signal
	stops  chan stdio.Stop
	// alone means that the command continues after the end of its parent process.
	alone bool
}

// maxStops is the maximum number of signals that wait in stops.
const maxStops = 16

// catch handles the signals until release is called. SIGPIPE has no effect: the write
// that caused it fails with an error. It is not ignored, since commands would inherit
// that.
func catch(ctx context.Context) *signals {
	s := &signals{
		caught: make(chan os.Signal, maxStops),
		stops:  make(chan stdio.Stop, maxStops),
		alone:  proc.Detached(),
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	released := ctx.Done()
	want := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE}
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(sig) { // nohup was used
			want = append(want, sig)
		}
	}
	signal.Notify(s.caught, want...)
	obeyTerminal(released)
	go s.listen(released) // ends with release, or with the process
	return s
}

func (s *signals) listen(released <-chan struct{}) {
	for {
		select {
		case sig, more := <-s.caught:
			if !more {
				return
			}
			stop, ends := stopFor(sig)
			if !ends {
				continue
			}
			s.cancel(stopped{stop})
			select {
			case s.stops <- stop:
			default: // enough stops wait already
			}
		case <-released:
			return
		}
	}
}

// watchParent treats the death of the parent process as a signal, unless the command
// continues alone. The returned function stops watching.
func (s *signals) watchParent() (stop func()) {
	if s.alone {
		return func() {}
	}
	return proc.Parent(func(err error) { s.lost("parent", stdio.CodeHangup, err) })
}

func (s *signals) release() {
	signal.Stop(s.caught)
	close(s.caught)
	s.cancel(nil)
}

// instead returns the error of an earlier signal, or err.
func (s *signals) instead(err error) error {
	var by stopped
	if err == nil || !errors.As(context.Cause(s.ctx), &by) {
		return err
	}
	return &exitError{by.Code, by}
}

// stopped is the cause of a context that a signal has cancelled.
type stopped struct{ stdio.Stop }

func (s stopped) Error() string {
	return fmt.Sprintf("stopped by %s before anything was sent to a model", strings.TrimPrefix(s.By, "signal:"))
}

// stopFor returns the stop that a signal asks for. SIGINT comes from a person.
func stopFor(sig os.Signal) (stop stdio.Stop, ends bool) {
	switch sig {
	case os.Interrupt:
		return stdio.Stop{Reason: event.Interrupted, By: "signal:SIGINT", Code: 130}, true
	case syscall.SIGTERM:
		return stdio.Stop{Reason: event.Shutdown, By: "signal:SIGTERM", Code: 143}, true
	case syscall.SIGHUP:
		return stdio.Stop{Reason: event.Shutdown, By: "signal:SIGHUP", Code: 129}, true
	case syscall.SIGQUIT: // its default action would end settle without a report
		return stdio.Stop{Reason: event.Shutdown, By: "signal:SIGQUIT", Code: 131}, true
	}
	return stdio.Stop{}, false
}

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

// signals are those that end a command. The first one ends ctx; all go to
// stops, for a turn to be ended by.
type signals struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	caught chan os.Signal
	stops  chan stdio.Stop
	// alone says that the command is to go on without whoever started it.
	alone bool
}

// mostStops is how many signals may wait for somebody to take them.
const mostStops = 16

// catch takes the signals over until release is called. SIGPIPE does nothing:
// the write that caused it fails and says more. It is not ignored, which
// commands would inherit.
func catch(ctx context.Context) *signals {
	s := &signals{caught: make(chan os.Signal, mostStops), stops: make(chan stdio.Stop, mostStops), alone: proc.Detached()}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	released := ctx.Done()
	want := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE}
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(sig) { // nohup means it
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
			default: // nobody can be that impatient
			}
		case <-released:
			return
		}
	}
}

// watchParent takes the death of whoever started the command for a signal,
// unless it is to go on without them. The returned function ends that.
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

// instead returns err, or what a signal that came before it means.
func (s *signals) instead(err error) error {
	var by stopped
	if err == nil || !errors.As(context.Cause(s.ctx), &by) {
		return err
	}
	return &exitError{by.Code, by}
}

// stopped says that a signal ended the command.
type stopped struct{ stdio.Stop }

func (s stopped) Error() string {
	return fmt.Sprintf("stopped by %s before anything was sent to a model", strings.TrimPrefix(s.By, "signal:"))
}

// stopFor is what a signal asks for. SIGINT is a person's.
func stopFor(sig os.Signal) (stop stdio.Stop, ends bool) {
	switch sig {
	case os.Interrupt:
		return stdio.Stop{Reason: event.Interrupted, By: "signal:SIGINT", Code: 130}, true
	case syscall.SIGTERM:
		return stdio.Stop{Reason: event.Shutdown, By: "signal:SIGTERM", Code: 143}, true
	case syscall.SIGHUP:
		return stdio.Stop{Reason: event.Shutdown, By: "signal:SIGHUP", Code: 129}, true
	case syscall.SIGQUIT: // which would end us without a word to anybody
		return stdio.Stop{Reason: event.Shutdown, By: "signal:SIGQUIT", Code: 131}, true
	}
	return stdio.Stop{}, false
}

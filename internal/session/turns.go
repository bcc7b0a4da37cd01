package session

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/turn"
)

// Outcome is how a turn ended.
type Outcome struct {
	// Turn is the turn's id; empty if none was running.
	Turn string
	// Cause says how it ended; nil if none was running.
	Cause *event.Cause
}

// running is the turn that runs.
type running struct {
	id         string
	cancel     context.CancelCauseFunc
	hurry      chan struct{} // closed to skip what is left of the grace
	skipsGrace bool
	ended      chan struct{} // closed when turn.Run has returned
	cause      *event.Cause  // how it ended; set before ended is closed
	waiters    []*waiter
	// compactions are those whom it was started for.
	compactions []*compaction
}

// waiter is a caller that waits for a turn's end.
type waiter struct {
	cause     *event.Cause
	input     string // that is meant; "" for the turn that runs
	hurry     bool
	abandoned atomic.Bool  // it does not wait any more
	answer    chan Outcome // room for one
}

// startNext starts a turn if none runs and an input waits to be run.
func (s *Session) startNext() {
	if s.running != nil || len(s.closing) > 0 {
		return
	}
	if s.log().Err() != nil {
		s.holdInputs(func(event.Input) bool { return true }, &event.Cause{}) // C19: shown as what it is
		return
	}
	if s.startCompaction() {
		return
	}
	c := s.config.Turn
	var id string
	var inputs []string
	err := update(s.log(), func(state event.State) []event.Event {
		inputs = nextInputs(state)
		if len(inputs) == 0 || state.Running() != nil {
			return nil
		}
		id = state.NextTurn()
		return []event.Event{{Turn: id, By: senderOf(state, inputs), Data: event.TurnStarted{
			Inputs: inputs, Provider: c.Model.ProviderName, Model: c.Model.Name, Effort: c.Model.Effort,
			Permission: s.config.Opened.Permission,
		}}}
	})
	if err != nil || id == "" {
		if err != nil {
			s.config.Logger.Error("cannot start a turn", "error", err)
		}
		return
	}
	s.run(c, id, inputs)
}

// replacement returns why the turn that has just been started is to end at
// once: another input waits to replace it. Nil if there is none.
func (s *Session) replacement() (cause *event.Cause) {
	s.log().View(func(state event.State) {
		for _, i := range state.Waiting {
			if i.Mode == event.Replace && !i.Held {
				cause = event.Abort(event.Replaced, i.By)
			}
		}
	})
	return cause
}

// by returns who sent the last of the inputs.
func senderOf(state event.State, inputs []string) string {
	for _, i := range state.Waiting {
		if i.ID == inputs[len(inputs)-1] {
			return i.By
		}
	}
	return ""
}

func (s *Session) run(c turn.Config, id string, inputs []string) {
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &running{id: id, cancel: cancel, hurry: make(chan struct{}), ended: make(chan struct{})}
	s.running = r
	c.Log, c.Calls, c.Conversation, c.Hurry, c.Meter = s.log(), &s.calls, &s.conversation, r.hurry, s.meter
	for _, input := range inputs {
		s.serveEarlyInterrupts(input) // C10: before the first attempt can start
	}
	if cause := s.replacement(); cause != nil {
		s.cancelTurn(cause, "")
	}
	// The actor waits for it: loop does not end while a turn runs.
	go scope.Shield(s.panicked, func() {
		defer close(r.ended)
		cause, err := turn.Run(ctx, c, id)
		r.cause = cause
		if err != nil {
			s.config.Logger.Error("a turn ended with an error beside it", "turn", id, "error", c.Redact.Diagnostic(err.Error()))
		}
	})()
}

// interruptedTimeout bounds Config.Interrupted: the session takes no mail
// meanwhile.
const interruptedTimeout = time.Second

// turnEnded answers all that waited for the turn (C10), then goes on.
func (s *Session) turnEnded() {
	r := s.running
	s.running = nil
	r.cancel(nil)
	s.awaitChildren(r.cause)
	if r.cause != nil && r.cause.Reason == event.Interrupted && s.config.Interrupted != nil {
		_ = withTimeout(interruptedTimeout, func(ctx context.Context) error { // what does not end then, ends with the session
			s.config.Interrupted(ctx)
			return nil
		})
	}
	for _, w := range r.waiters {
		w.answer <- Outcome{Turn: r.id, Cause: r.cause}
	}
	for _, c := range r.compactions {
		c.answer <- Outcome{Turn: r.id, Cause: r.cause}
	}
	if s.config.Ended != nil {
		if err := scope.Guard(func() error { s.log().View(s.config.Ended); return nil }); err != nil {
			s.panicked(err)
		}
	}
	if len(s.closing) > 0 {
		s.serveLateInterrupts()
		s.closeAfterHooks()
		return
	}
	s.startNext()
	s.serveLateInterrupts()
}

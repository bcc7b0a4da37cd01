package session

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/turn"
)

// Outcome describes how a turn ended.
type Outcome struct {
	// Turn is the turn's id; empty if no turn was running.
	Turn string
	// Cause is the cause of the turn's end; nil if no turn was running.
	Cause *event.Cause
}

// running is the running turn.
type running struct {
	id         string
	cancel     context.CancelCauseFunc
	hurry      chan struct{} // closed to skip the rest of the grace
	skipsGrace bool
	ended      chan struct{} // closed when turn.Run has returned
	cause      *event.Cause  // of the end; set before ended is closed
	waiters    []*waiter
	// compactions are the clients for which the turn compacts the history.
	compactions []*compaction
}

// waiter is a client that waits for a turn's end.
type waiter struct {
	cause     *event.Cause
	input     string // names the turn; "" for the running one
	hurry     bool
	abandoned atomic.Bool  // the client does not wait any more
	answer    chan Outcome // capacity 1
}

// startNext starts a turn if none runs and an input waits.
func (s *Session) startNext() {
	if s.running != nil || len(s.closing) > 0 {
		return
	}
	if s.log().Err() != nil {
		s.holdInputs(func(event.Input) bool { return true }, &event.Cause{}) // C19: shown as held
		return
	}
	if s.isPastLast() {
		s.holdInputs(func(event.Input) bool { return true }, event.Abort(event.Shutdown, "host"))
		s.refuseCompactions()
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
			Permission: s.config.Opened.Permission, StreamLimits: turn.StreamLimits(c.Model.Timeouts),
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

// isPastLast reports whether the last input has run, or will not run: the program ends then, and
// would end any other turn. No turn runs now.
func (s *Session) isPastLast() (past bool) {
	if s.lastInput == "" {
		return false
	}
	s.log().View(func(state event.State) {
		past = !slices.ContainsFunc(state.Waiting, func(i event.Input) bool { return i.ID == s.lastInput && !i.Held })
	})
	return past
}

// replacement returns the cause with which the new turn ends at once because another input
// waits to replace it; nil if none does.
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

// senderOf returns the sender of the last of the inputs.
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
		cause, err := turn.Run(ctx, &c, id)
		r.cause = cause
		if err != nil {
			s.config.Logger.Error(
				"a turn ended with an error beside it", "turn", id, "error", c.Redact.Diagnostic(err.Error()),
			)
		}
	})()
}

// interruptedTimeout bounds Config.Interrupted, which blocks the actor.
const interruptedTimeout = time.Second

// turnEnded answers the clients that waited for the turn (C10), then starts the next one.
func (s *Session) turnEnded() {
	r := s.running
	s.running = nil
	r.cancel(nil)
	s.awaitChildren(r.cause)
	if r.cause != nil && r.cause.Reason == event.Interrupted && s.config.Interrupted != nil {
		_ = withTimeout(interruptedTimeout, "", func(ctx context.Context) error { // the session's end ends the rest
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

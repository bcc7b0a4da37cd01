package session

import (
	"context"
	"slices"

	"github.com/settle-agent/settle/event"
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
	id      string
	cancel  context.CancelCauseFunc
	hurry   chan struct{} // closed to skip what is left of the grace
	hurried bool
	ended   chan struct{} // closed when turn.Run has returned
	cause   *event.Cause  // how it ended; set before ended is closed
	waiters []*waiter
}

// waiter is a caller that waits for a turn's end.
type waiter struct {
	cause  *event.Cause
	answer chan Outcome // room for one
}

// startNext starts a turn if none runs and an input waits to be run.
func (s *Session) startNext() {
	if s.running != nil || len(s.closing) > 0 || s.log().Err() != nil {
		return
	}
	c := s.config.Turn
	var id string
	err := s.log().Update(func(state event.State) []event.Event {
		inputs := next(state)
		if len(inputs) == 0 || state.Running() != nil {
			return nil
		}
		id = state.NextTurn()
		return []event.Event{{Turn: id, By: by(state, inputs), Data: event.TurnStarted{
			Inputs: inputs, Provider: c.Target.Provider, Model: c.Target.Model, Effort: c.Target.Effort,
			Permission: s.config.Opened.Permission,
		}}}
	})
	if err != nil || id == "" {
		if err != nil {
			s.config.Logger.Error("cannot start a turn", "error", err)
		}
		return
	}
	s.run(c, id)
}

// by returns who sent the last of the inputs.
func by(state event.State, inputs []string) string {
	for _, i := range state.Waiting {
		if i.ID == inputs[len(inputs)-1] {
			return i.By
		}
	}
	return ""
}

func (s *Session) run(c turn.Config, id string) {
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &running{id: id, cancel: cancel, hurry: make(chan struct{}), ended: make(chan struct{})}
	s.running = r
	c.Log, c.Calls, c.Hurry = s.log(), &s.calls, r.hurry
	// The actor waits for it: loop does not end while a turn runs.
	go func() {
		defer close(r.ended)
		cause, err := turn.Run(ctx, c, id)
		r.cause = cause
		if err != nil {
			s.config.Logger.Error("a turn ended with an error beside it", "turn", id, "error", err)
		}
	}()
}

// turnEnded answers all that waited for the turn (C10), then goes on.
func (s *Session) turnEnded() {
	r := s.running
	s.running = nil
	r.cancel(nil)
	for _, w := range r.waiters {
		w.answer <- Outcome{Turn: r.id, Cause: r.cause}
	}
	if s.config.Ended != nil {
		s.log().View(s.config.Ended)
	}
	if len(s.closing) > 0 {
		s.finish()
		return
	}
	s.startNext()
}

// Request asks for an end.
type Request struct {
	// By says who asks.
	By string
	// Reason is why; "" means interrupted.
	Reason event.Reason
	// Input, if set, is the input that is meant: if it has not been accepted
	// yet, the request waits for it.
	Input string
	// Hurry skips the grace.
	Hurry bool
}

// Interrupt ends the running turn and returns how it ended, after its terminal
// event is in the log (C10); the turn may have completed instead. If nothing
// runs and no input is named that is still to come, it returns at once with
// an empty Outcome.
func (s *Session) Interrupt(ctx context.Context, r Request) (Outcome, error) {
	reason := r.Reason
	if reason == "" {
		reason = event.Interrupted
	}
	w := &waiter{cause: event.Abort(reason, r.By), answer: make(chan Outcome, 1)}
	if err := s.do(ctx, func() { s.takeInterrupt(r, w) }); err != nil {
		return Outcome{}, err
	}
	select {
	case o := <-w.answer:
		return o, nil
	case <-ctx.Done():
		_ = s.do(context.WithoutCancel(ctx), func() { s.forget(r.Input, w) })
		return Outcome{}, context.Cause(ctx)
	}
}

func (s *Session) takeInterrupt(r Request, w *waiter) {
	s.startNext() // what was accepted before is covered
	if s.running == nil {
		if r.Input == "" || s.accepted(r.Input) {
			w.answer <- Outcome{}
			return
		}
		s.early[r.Input] = append(s.early[r.Input], w)
		return
	}
	s.interrupt(w.cause, r.Input)
	s.running.waiters = append(s.running.waiters, w)
	if r.Hurry && !s.running.hurried {
		s.running.hurried = true
		close(s.running.hurry)
	}
}

// interrupt cancels the running turn, in one step with recording the request,
// so that nothing starts in between; the first cause stays.
func (s *Session) interrupt(cause *event.Cause, input string) {
	r := s.running
	_ = s.log().Update(func(state event.State) []event.Event {
		t := state.Running()
		if t == nil || t.ID != r.id {
			return nil
		}
		r.cancel(cause)
		return []event.Event{{Turn: r.id, By: cause.By, Data: event.InterruptRequested{Reason: cause.Reason, Input: input}}}
	}) // a journal that fails ends the turn by itself
	r.cancel(cause) // also where the log takes no more
}

// interruptEarly serves the requests that came before the input they name.
func (s *Session) interruptEarly(input string) {
	waiters := s.early[input]
	delete(s.early, input)
	for _, w := range waiters {
		if s.running == nil {
			w.answer <- Outcome{}
			continue
		}
		s.interrupt(w.cause, input)
		s.running.waiters = append(s.running.waiters, w)
	}
}

// forget drops a waiter that no longer waits.
func (s *Session) forget(input string, w *waiter) {
	drop := func(list []*waiter) []*waiter {
		return slices.DeleteFunc(list, func(x *waiter) bool { return x == w })
	}
	s.early[input] = drop(s.early[input])
	if len(s.early[input]) == 0 {
		delete(s.early, input)
	}
	if s.running != nil {
		s.running.waiters = drop(s.running.waiters)
	}
}

func (s *Session) accepted(input string) (is bool) {
	s.log().View(func(state event.State) { is = state.Accepted(input) })
	return is
}

// Cancel cancels a single call of the running turn, which goes on without it,
// and reports whether the call was running.
func (s *Session) Cancel(item, by string) bool {
	return s.calls.Cancel(item, event.Abort(event.Interrupted, by))
}

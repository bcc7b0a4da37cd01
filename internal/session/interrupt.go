package session

import (
	"context"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
)

// Request asks for an end.
type Request struct {
	// By says who asks.
	By string
	// Reason is why; "" means interrupted.
	Reason event.Reason
	// Input, if set, is the input that is meant: only its turn is ended. If it
	// has not been accepted yet, the request waits for it; if it waits behind
	// another turn, it is held.
	Input string
	// Hurry skips the grace.
	Hurry bool
}

// Interrupt ends the running turn and returns how it ended, after its terminal
// event is in the log (C10); the turn may have completed instead. The turn of
// an input that is named may be over: then it returns at once how that ended.
// If nothing runs that is meant and no input is named that is still to come,
// it returns at once with an empty Outcome.
func (s *Session) Interrupt(ctx context.Context, r Request) (Outcome, error) {
	reason := r.Reason
	if reason == "" {
		reason = event.Interrupted
	}
	w := &waiter{cause: event.Abort(reason, r.By), input: r.Input, hurry: r.Hurry, answer: make(chan Outcome, 1)}
	if err := s.do(ctx, func() { s.handleInterrupt(w) }); err != nil {
		return Outcome{}, err
	}
	select {
	case o := <-w.answer:
		return o, nil
	case <-ctx.Done():
		w.abandoned.Store(true)
		// Ends when the actor takes it or has ended.
		go scope.Shield(s.panicked, func() { _ = s.do(context.WithoutCancel(ctx), func() { s.dropWaiter(w) }) })()
		return Outcome{}, context.Cause(ctx)
	}
}

// takeInterrupt ends what w means, or has w wait for it.
func (s *Session) handleInterrupt(w *waiter) {
	s.startNext() // what was accepted before is covered
	withdrawn := s.withdrawInputs(w.input, w.cause)
	if w.input == "" {
		if s.running == nil {
			s.endHooks.cancel()
			w.answer <- Outcome{}
			return
		}
		if s.turnHasEnded() {
			s.lateInterrupts = append(s.lateInterrupts, w)
			return
		}
		s.interrupt(w)
		return
	}
	turn, accepted := s.findTurn(w.input)
	switch {
	case !accepted && withdrawn:
		w.answer <- Outcome{} // room for one
	case !accepted:
		s.earlyInterrupts[w.input] = append(s.earlyInterrupts[w.input], w)
	case turn.Turn == "": // it waits behind another turn, or was dropped
		s.holdInputs(func(i event.Input) bool { return i.ID == w.input }, w.cause)
		w.answer <- Outcome{}
	case s.running != nil && s.running.id == turn.Turn:
		s.interrupt(w)
	default:
		w.answer <- turn
	}
}

// over reports whether the running turn has its terminal event: what waits
// behind it starts when the turn has returned, and is what an interrupt means
// that comes now.
func (s *Session) turnHasEnded() (over bool) {
	s.log().View(func(state event.State) { over = state.Running() == nil })
	return over
}

// takeLate serves the interrupts that came while a turn that was over had not
// returned.
func (s *Session) serveLateInterrupts() {
	late := s.lateInterrupts
	s.lateInterrupts = nil
	for _, w := range late {
		if !w.abandoned.Load() {
			s.handleInterrupt(w)
		}
	}
}

// find returns the turn that took the input, if one did, and whether the input
// was accepted.
func (s *Session) findTurn(input string) (o Outcome, accepted bool) {
	s.log().View(func(state event.State) {
		accepted = state.Accepted(input)
		for _, t := range slices.Backward(state.Turns) {
			if tookInput(t, input) {
				o = Outcome{Turn: t.ID, Cause: t.Cause}
				return
			}
		}
	})
	return o, accepted
}

func tookInput(t *event.Turn, input string) bool {
	is := func(i event.Input) bool { return i.ID == input }
	return slices.ContainsFunc(t.Inputs, is) ||
		slices.ContainsFunc(t.Attempts, func(a *event.Attempt) bool { return slices.ContainsFunc(a.Inputs, is) })
}

// hold holds the inputs that wait and are meant.
func (s *Session) holdInputs(meant func(event.Input) bool, cause *event.Cause) {
	_ = update(s.log(), func(state event.State) (out []event.Event) {
		for _, i := range state.Waiting {
			if !i.Held && meant(i) {
				out = append(out, event.Event{By: cause.By, Data: event.InputHeld{Input: i.ID, Reason: cause.Reason}})
			}
		}
		return out
	}) // where the journal failed, that is told by the turn or by Submit
}

// interrupt ends the running turn and has w wait for that.
func (s *Session) interrupt(w *waiter) {
	s.cancelTurn(w.cause, w.input)
	s.running.waiters = append(s.running.waiters, w)
	if w.hurry && !s.running.skipsGrace {
		s.running.skipsGrace = true
		close(s.running.hurry)
	}
}

// end cancels the running turn, in one step with recording the request, so
// that nothing starts in between; the first cause stays.
func (s *Session) cancelTurn(cause *event.Cause, input string) {
	r := s.running
	defer s.endChildren(cause)
	_ = update(s.log(), func(state event.State) []event.Event {
		t := state.Running()
		if t == nil || t.ID != r.id {
			return nil
		}
		r.cancel(cause)
		return []event.Event{{Turn: r.id, By: cause.By, Data: event.InterruptRequested{Reason: cause.Reason, Input: input}}}
	}) // a journal that fails ends the turn by itself
	r.cancel(cause) // also where the log takes no more
}

// arrived serves the requests that came before the input that they name.
func (s *Session) serveEarlyInterrupts(input string) {
	waiters := s.earlyInterrupts[input]
	delete(s.earlyInterrupts, input)
	for _, w := range waiters {
		if !w.abandoned.Load() {
			s.handleInterrupt(w)
		}
	}
}

// forget drops a waiter that no longer waits.
func (s *Session) dropWaiter(w *waiter) {
	drop := func(list []*waiter) []*waiter {
		return slices.DeleteFunc(list, func(x *waiter) bool { return x == w })
	}
	s.earlyInterrupts[w.input] = drop(s.earlyInterrupts[w.input])
	if len(s.earlyInterrupts[w.input]) == 0 {
		delete(s.earlyInterrupts, w.input)
	}
	s.lateInterrupts = drop(s.lateInterrupts)
	if s.running != nil {
		s.running.waiters = drop(s.running.waiters)
	}
}

// Cancel cancels a single call of the running turn, which goes on without it,
// and reports whether the call was running.
func (s *Session) Cancel(item, by string) bool {
	return s.calls.Cancel(item, event.Abort(event.Interrupted, by))
}

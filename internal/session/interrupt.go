package session

import (
	"context"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
)

// Request is a request to end a turn.
type Request struct {
	// By names the client.
	By string
	// Reason is the reason of the turn's ending; "" means interrupted.
	Reason event.Reason
	// Input, if set, is the id of an input: only its turn ends. If the input has not been
	// accepted yet, the request waits for it. If the input waits behind another turn, it is
	// held.
	Input string
	// Hurry skips the grace.
	Hurry bool
}

// Interrupt ends the running turn and returns its outcome, after its terminal event is in the log
// (C10). The turn may have completed instead. If the turn of a named input has ended before,
// Interrupt returns its outcome at once. If there is no such turn and no named input may still
// arrive, it returns an empty Outcome at once.
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
		// Ends when the actor has handled it or has ended.
		go scope.Shield(s.panicked, func() { _ = s.do(context.WithoutCancel(ctx), func() { s.dropWaiter(w) }) })()
		return Outcome{}, context.Cause(ctx)
	}
}

// handleInterrupt ends the turn that w names, or lets w wait for it.
func (s *Session) handleInterrupt(w *waiter) {
	s.startNext() // inputs that were accepted before are included
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
		w.answer <- Outcome{} // capacity 1
	case !accepted:
		s.earlyInterrupts[w.input] = append(s.earlyInterrupts[w.input], w)
	case turn.Turn == "": // waits behind another turn, or was dropped
		s.holdInputs(func(i event.Input) bool { return i.ID == w.input }, w.cause)
		w.answer <- Outcome{}
	case s.running != nil && s.running.id == turn.Turn:
		s.interrupt(w)
	default:
		w.answer <- turn
	}
}

// turnHasEnded reports whether the running turn has its terminal event. An interrupt that
// arrives then is for the turn that starts next.
func (s *Session) turnHasEnded() (ended bool) {
	s.log().View(func(state event.State) { ended = state.Running() == nil })
	return ended
}

// serveLateInterrupts handles the interrupts that arrived after the turn's terminal event and
// before the turn returned.
func (s *Session) serveLateInterrupts() {
	late := s.lateInterrupts
	s.lateInterrupts = nil
	for _, w := range late {
		if !w.abandoned.Load() {
			s.handleInterrupt(w)
		}
	}
}

// findTurn returns the turn that took the input, if any, and whether the input was accepted.
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

// holdInputs holds the waiting inputs that meant selects.
func (s *Session) holdInputs(meant func(event.Input) bool, cause *event.Cause) {
	_ = update(s.log(), func(state event.State) (out []event.Event) {
		for _, i := range state.Waiting {
			if !i.Held && meant(i) {
				out = append(out, event.Event{By: cause.By, Data: event.InputHeld{Input: i.ID, Reason: cause.Reason}})
			}
		}
		return out
	}) // the turn or Submit reports a failed journal
}

// interrupt ends the running turn and lets w wait for its end.
func (s *Session) interrupt(w *waiter) {
	s.cancelTurn(w.cause, w.input)
	s.running.waiters = append(s.running.waiters, w)
	if w.hurry && !s.running.skipsGrace {
		s.running.skipsGrace = true
		close(s.running.hurry)
	}
}

// cancelTurn cancels the running turn and records the request in one step, so that nothing
// starts in between. The first cause counts.
func (s *Session) cancelTurn(cause *event.Cause, input string) {
	r := s.running
	defer s.endChildren(cause)
	_ = update(s.log(), func(state event.State) []event.Event {
		t := state.Running()
		if t == nil || t.ID != r.id {
			return nil
		}
		r.cancel(cause)
		return []event.Event{
			{Turn: r.id, By: cause.By, Data: event.InterruptRequested{Reason: cause.Reason, Input: input}},
		}
	}) // a failed journal ends the turn by itself
	r.cancel(cause) // also if the log is closed or has failed
}

// serveEarlyInterrupts handles the interrupts that arrived before the input that they name.
func (s *Session) serveEarlyInterrupts(input string) {
	waiters := s.earlyInterrupts[input]
	delete(s.earlyInterrupts, input)
	for _, w := range waiters {
		if !w.abandoned.Load() {
			s.handleInterrupt(w)
		}
	}
}

// dropWaiter removes a waiter that does not wait any more.
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

// Cancel cancels a single call of the running turn and reports whether the call was running.
// The turn continues.
func (s *Session) Cancel(item, by string) bool {
	return s.calls.Cancel(item, event.Abort(event.Interrupted, by))
}

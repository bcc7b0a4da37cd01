package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/run"
)

// expansion is an input of which it is being found out what it stands for. It is not
// accepted yet.
//
//	Submit ─► begun ─► Expand runs ─► accepted
//	            │          └► failed: Submit says why
//	            └► withdrawn: by an interrupt or the session's end; Submit returns the cause
//
// What it is belongs to the actor, so that an interrupt either withdraws it or finds
// it accepted (C10).
type expansion struct {
	input  string // its id; "" for one that is still to be made
	cancel context.CancelCauseFunc
	cause  *event.Cause // why it was withdrawn
}

// expand finds out what the input stands for. again says that it was accepted
// before. Without an error, and unless again, the caller has the actor call
// endExpansion.
func (s *Session) expand(ctx context.Context, in *run.Input) (_ *expansion, again bool, _ error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e := &expansion{input: in.ID, cancel: cancel}
	var begun error
	if err := s.await(ctx, func() { again, begun = s.beginExpansion(e) }); err != nil || again {
		return nil, again, err
	}
	text, images, err := "", []event.Image(nil), begun
	if err == nil {
		err = scope.Guard(func() (err error) {
			text, images, err = in.Expand(ctx, in.Text)
			return err
		})
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("not sent: %w", context.Cause(ctx))
		}
		if s.forgetExpansion(ctx, e) {
			return nil, true, nil
		}
		return nil, false, err
	}
	in.Text, in.Images = text, slices.Concat(in.Images, images)
	return e, false, nil
}

// await has the actor run f, and waits until it has. It is bounded by ctx until the
// actor takes f, which does not wait for anything but the disk.
func (s *Session) await(ctx context.Context, f func()) error {
	done := make(chan struct{})
	if err := s.do(ctx, func() { defer close(done); f() }); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-s.done:
		return ErrClosed
	}
}

// beginExpansion takes note of an input that is not known yet.
func (s *Session) beginExpansion(e *expansion) (again bool, err error) {
	if len(s.closing) > 0 {
		return false, ErrClosed
	}
	if s.isAccepted(e.input) {
		return true, nil
	}
	s.expansions = append(s.expansions, e)
	if waiters := s.earlyInterrupts[e.input]; e.input != "" && len(waiters) > 0 { // C10: they came before it
		delete(s.earlyInterrupts, e.input)
		for _, w := range waiters {
			if !w.abandoned.Load() {
				e.withdraw(w.cause)
				w.answer <- Outcome{} // room for one
			}
		}
		if e.cause != nil {
			return false, e.cause
		}
	}
	return false, nil
}

// accepted reports whether an input with the id was accepted.
func (s *Session) isAccepted(input string) (accepted bool) {
	s.log().View(func(state event.State) { accepted = input != "" && state.Accepted(input) })
	return accepted
}

// forgetExpansion has the actor call endExpansion, if there is an actor. It reports
// whether the input was accepted meanwhile: somebody sent it twice.
func (s *Session) forgetExpansion(ctx context.Context, e *expansion) (again bool) {
	_ = s.await(context.WithoutCancel(ctx), func() {
		s.endExpansion(e)
		again = s.isAccepted(e.input)
	})
	return again
}

// endExpansion forgets it.
func (s *Session) endExpansion(e *expansion) {
	s.expansions = slices.DeleteFunc(s.expansions, func(x *expansion) bool { return x == e })
}

// withdraw has the input not be accepted. The first cause stays.
func (e *expansion) withdraw(cause *event.Cause) {
	if e.cause == nil {
		e.cause = cause
		e.cancel(cause)
	}
}

// withdraw withdraws the inputs that are not known yet and are meant, and reports
// whether there were any. The id "" means all of them.
func (s *Session) withdrawInputs(input string, cause *event.Cause) (found bool) {
	for _, e := range s.expansions {
		if input == "" || e.input == input {
			found = true
			e.withdraw(cause)
		}
	}
	return found
}

// acceptExpanded is accept for an input that was expanded, unless it was withdrawn
// meanwhile.
func (s *Session) acceptExpanded(e *expansion, in run.Input) (Receipt, error) {
	if e != nil {
		if s.endExpansion(e); e.cause != nil && !s.isAccepted(e.input) {
			return Receipt{}, fmt.Errorf("not sent: %w", e.cause)
		}
	}
	return s.accept(in)
}

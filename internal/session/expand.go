package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/run"
)

// expansion is an input that is being expanded, or whose documents are being read. It is not
// accepted yet.
//
//	Submit ─► begun ─► Expand runs, documents are read ─► accepted
//	            │          └► failed: Submit returns the error
//	            └► withdrawn: by an interrupt or the session's end; Submit returns the cause
//
// Its state belongs to the actor, so that an interrupt either withdraws the input or finds it
// accepted (C10).
type expansion struct {
	input  string // id of the input; "" if the input has none yet
	cancel context.CancelCauseFunc
	cause  *event.Cause // why it was withdrawn
}

// expand begins the expansion and expands the input's text. ctx ends with a withdrawal.
// duplicate means that the id was accepted before. Otherwise, without an error, the caller lets
// the actor call endExpansion.
func (s *Session) expand(ctx context.Context, e *expansion, in *run.Input) (duplicate bool, _ error) {
	var begun error
	if err := s.await(ctx, func() { duplicate, begun = s.beginExpansion(e) }); err != nil || duplicate {
		return duplicate, err
	}
	text, images, err := in.Text, []event.Image(nil), begun
	if err == nil && in.Expand != nil {
		err = scope.Guard(func() (err error) {
			text, images, err = in.Expand(ctx, in.Text)
			return err
		})
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("not sent: %w", context.Cause(ctx))
		}
		if duplicate, _ := s.forgetExpansion(ctx, e); duplicate {
			return true, nil
		}
		return false, err
	}
	in.Text, in.Images = text, slices.Concat(in.Images, images)
	return false, nil
}

// await lets the actor run f and waits until f has returned. ctx bounds only the wait for the
// actor; f itself waits only for the disk.
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

// beginExpansion registers an input that is being expanded.
func (s *Session) beginExpansion(e *expansion) (duplicate bool, err error) {
	if len(s.closing) > 0 {
		return false, ErrClosed
	}
	if s.isAccepted(e.input) {
		return true, nil
	}
	s.expansions = append(s.expansions, e)
	if waiters := s.earlyInterrupts[e.input]; e.input != "" && len(waiters) > 0 { // C10: they arrived before the input
		delete(s.earlyInterrupts, e.input)
		for _, w := range waiters {
			if !w.abandoned.Load() {
				e.withdraw(w.cause)
				w.answer <- Outcome{} // capacity 1
			}
		}
		if e.cause != nil {
			return false, e.cause
		}
	}
	return false, nil
}

// isAccepted reports whether an input with the id was accepted.
func (s *Session) isAccepted(input string) (accepted bool) {
	s.log().View(func(state event.State) { accepted = input != "" && state.Accepted(input) })
	return accepted
}

// forgetExpansion lets the actor call endExpansion, if the actor runs. It reports whether the
// same input was accepted before that, and why the input was withdrawn, if it was.
func (s *Session) forgetExpansion(ctx context.Context, e *expansion) (duplicate bool, withdrawn *event.Cause) {
	_ = s.await(context.WithoutCancel(ctx), func() {
		s.endExpansion(e)
		duplicate, withdrawn = s.isAccepted(e.input), e.cause
	})
	return duplicate, withdrawn
}

// endExpansion removes the expansion.
func (s *Session) endExpansion(e *expansion) {
	s.expansions = slices.DeleteFunc(s.expansions, func(x *expansion) bool { return x == e })
}

// withdraw refuses the input when its expansion ends. The first cause counts.
func (e *expansion) withdraw(cause *event.Cause) {
	if e.cause == nil {
		e.cause = cause
		e.cancel(cause)
	}
}

// withdrawInputs withdraws the input with the id, or all inputs that are being expanded if the
// id is "", and reports whether there were any.
func (s *Session) withdrawInputs(input string, cause *event.Cause) (found bool) {
	for _, e := range s.expansions {
		if input == "" || e.input == input {
			found = true
			e.withdraw(cause)
		}
	}
	return found
}

// acceptExpanded accepts an expanded input, unless it was withdrawn.
func (s *Session) acceptExpanded(e *expansion, in run.Input) (Receipt, error) {
	if e != nil {
		if s.endExpansion(e); e.cause != nil && !s.isAccepted(e.input) {
			return Receipt{}, fmt.Errorf("not sent: %w", e.cause)
		}
	}
	return s.accept(in)
}

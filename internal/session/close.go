package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
)

// Close ends the running turn with the reason (shutdown if empty), then the rest of the session,
// and closes the log. Concurrent calls wait for the same end. If ctx ends first, Close returns an
// error that names the work that still runs, and the session continues to end.
func (s *Session) Close(ctx context.Context, reason event.Reason, by string) error {
	if reason == "" {
		reason = event.Shutdown
	}
	answer := make(chan error, 1)
	// Ends when the actor has handled the close or has ended, even if ctx ends first.
	go scope.Shield(func(err error) { answer <- err }, func() {
		if s.do(context.WithoutCancel(ctx), func() {
			if at, ok := ctx.Deadline(); ok && (s.closeBy.IsZero() || at.Before(s.closeBy)) {
				s.closeBy = at
			}
			s.handleClose(answer, event.Abort(reason, by))
		}) != nil {
			answer <- nil // closed before; never blocks: capacity 1
		}
	})()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("cannot close session %s in time: %s: %w", s.ID(), s.unfinished(), context.Cause(ctx))
	}
}

// CloseIdle closes the session if nothing runs in it and nothing has happened in it since the
// given time, and reports whether it did. Held inputs stay held.
func (s *Session) CloseIdle(ctx context.Context, since time.Time) (bool, error) {
	answer := make(chan error, 1)
	busy := make(chan struct{})
	if err := s.do(ctx, func() {
		if !s.isIdle(since) {
			close(busy)
			return
		}
		s.closedIdle.Store(true)
		s.handleClose(answer, event.Abort(event.Shutdown, "host"))
	}); err != nil {
		return errors.Is(err, ErrClosed), nil
	}
	select {
	case <-busy:
		return false, nil
	case err := <-answer:
		return true, err
	case <-ctx.Done():
		return false, fmt.Errorf("cannot close session %s in time: %w", s.ID(), context.Cause(ctx))
	}
}

// isIdle reports whether the session can be closed without ending anything.
func (s *Session) isIdle(since time.Time) bool {
	if s.running != nil || len(s.closing) > 0 || len(s.earlyInterrupts) > 0 || len(s.expansions) > 0 {
		return false
	}
	idle := false
	s.log().View(func(state event.State) {
		idle = state.Updated.Before(since) && state.Running() == nil &&
			!slices.ContainsFunc(state.Waiting, func(i event.Input) bool { return !i.Held }) &&
			!hasChildren(state) &&
			!slices.ContainsFunc(state.Jobs, func(j *event.Job) bool { return j.Ended == nil })
	})
	return idle
}

// ClosedIdle reports whether CloseIdle closed the session or is closing it.
func (s *Session) ClosedIdle() bool { return s.closedIdle.Load() }

func (s *Session) handleClose(answer chan error, cause *event.Cause) {
	s.closing = append(s.closing, answer)
	s.withdrawInputs("", cause)
	if s.running != nil {
		s.cancelTurn(cause, "")
		return
	}
	s.closeAfterHooks()
}

// unfinished names the work that has not ended yet.
func (s *Session) unfinished() (what string) {
	s.log().View(func(state event.State) {
		what = "its log is being written"
		if t := state.Running(); t != nil {
			what = fmt.Sprintf("turn %s has not ended", t.ID)
		}
	})
	return what
}

const (
	// closeTimeout bounds the end of jobs and child agents, and then the end of the log.
	closeTimeout = 10 * time.Second
	// leaveTimeout bounds the end of the session's git worktree, which has bounds of its own: 10 s
	// for the search for changes and 5 s for the removal.
	leaveTimeout = 16 * time.Second
)

// finish closes the session. No turn runs any more.
func (s *Session) finish() {
	s.closed = true
	cause := event.Abort(event.Shutdown, "host")
	left := errors.Join(s.closeChildren(cause), s.beforeClose())
	worktree := s.leaveWorktree(left != nil)
	err := s.log().Update(func(state event.State) []event.Event {
		if !state.Open {
			return nil
		}
		closed := event.SessionClosed{Worktree: worktree}
		return append(event.Closings(state, cause), event.Event{By: "host", Data: closed})
	})
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err = errors.Join(left, err, s.log().Close(ctx))
	for _, waiters := range s.earlyInterrupts {
		for _, w := range waiters {
			w.answer <- Outcome{}
		}
	}
	for _, c := range s.closing {
		c <- err
	}
}

// closeChildren ends the running children, within a bound.
func (s *Session) closeChildren(cause *event.Cause) error {
	if s.config.ChildAgents == nil {
		return nil
	}
	s.config.ChildAgents.Cancel(parentCause(cause))
	if withTimeout(closeTimeout, "", s.config.ChildAgents.Finish) != nil {
		return fmt.Errorf("cannot end the child agents: they did not stop within %v", closeTimeout)
	}
	return nil
}

// beforeClose ends jobs, within a bound.
func (s *Session) beforeClose() error {
	if s.config.BeforeClose == nil {
		return nil
	}
	return withTimeout(closeTimeout, "cannot end what the tools left running", s.config.BeforeClose)
}

// occupied returns the reason why processes may still work in the session's directory; "" if none
// do. A released job of an earlier host may still run.
func (s *Session) occupied(unended bool) (why string) {
	if unended {
		return "not all of the session's processes have ended"
	}
	s.log().View(func(state event.State) {
		for _, j := range state.Jobs {
			if j.Ended != nil && j.Ended.How == event.JobReleased {
				why = fmt.Sprintf("job %s was released and may work in it", j.Job)
			}
			if j.Ended == nil || len(j.Ended.Survivors) > 0 {
				why = fmt.Sprintf("processes of job %s have not ended", j.Job)
			}
		}
		for _, t := range state.Turns {
			for _, i := range t.Items {
				if len(i.Content().Survivors) > 0 {
					why = fmt.Sprintf("processes of call %s have not ended", i.ID)
				}
			}
		}
	})
	return why
}

// leaveWorktree leaves the session's own git worktree, within a bound; nil if it has none.
func (s *Session) leaveWorktree(unended bool) *event.WorktreeLeft {
	leave := s.config.LeaveWorktree
	if leave == nil {
		return nil
	}
	if why := s.occupied(unended); why != "" {
		keep := s.config.KeepWorktree
		if keep == nil {
			return &event.WorktreeLeft{Kept: true, Why: why}
		}
		leave = func(ctx context.Context) event.WorktreeLeft { return keep(ctx, why) }
	}
	left := make(chan event.WorktreeLeft, 1)
	err := withTimeout(leaveTimeout, "settle could not look through it", func(ctx context.Context) error {
		left <- leave(ctx) // never blocks: capacity 1
		return nil
	})
	if err != nil {
		return &event.WorktreeLeft{Kept: true, Why: err.Error()}
	}
	l := <-left
	return &l
}

// withTimeout calls f and returns an error, which begins with what, if f does not return in time.
func withTimeout(limit time.Duration, what string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	done := make(chan error, 1)
	// Ends when f returns. Nothing waits for a function that ignores its context.
	go func() {
		done <- scope.Guard(func() error { return f(ctx) }) // never blocks: capacity 1
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%s: it did not stop within %v", what, limit)
	}
}

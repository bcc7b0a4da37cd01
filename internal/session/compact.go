package session

import (
	"context"
	"sync/atomic"

	"github.com/settle-agent/settle/event"
)

// compaction is somebody who waits for a shorter history.
type compaction struct {
	by        string
	abandoned atomic.Bool  // it does not wait any more
	answer    chan Outcome // room for one
}

// Compact has the history made shorter, in a turn of its own that comes next, and
// returns how that ended. If ctx ends first, a turn that has not started does not
// come; one that runs goes on, until it is interrupted.
func (s *Session) Compact(ctx context.Context, by string) (Outcome, error) {
	c := &compaction{by: by, answer: make(chan Outcome, 1)}
	failed := make(chan error, 1)
	if err := s.do(ctx, func() {
		if len(s.closing) > 0 {
			failed <- ErrClosed // never blocks: one answer, room for one
			return
		}
		if err := s.reopen(); err != nil {
			failed <- err
			return
		}
		s.compactions = append(s.compactions, c)
		s.startNext()
	}); err != nil {
		return Outcome{}, err
	}
	select {
	case o := <-c.answer:
		return o, nil
	case err := <-failed:
		return Outcome{}, err
	case <-s.done:
		select {
		case o := <-c.answer: // it was answered before
			return o, nil
		default:
			return Outcome{}, ErrClosed
		}
	case <-ctx.Done():
		c.abandoned.Store(true)
		return Outcome{}, context.Cause(ctx)
	}
}

// startCompaction starts a turn for those who wait for a shorter history, and
// reports whether it did.
func (s *Session) startCompaction() bool {
	var waiting []*compaction
	for _, c := range s.compactions {
		if !c.abandoned.Load() {
			waiting = append(waiting, c)
		}
	}
	s.compactions = nil
	if len(waiting) == 0 {
		return false
	}
	c := s.config.Turn
	var id string
	err := update(s.log(), func(state event.State) []event.Event {
		if state.Running() != nil {
			return nil
		}
		id = state.NextTurn()
		return []event.Event{{Turn: id, By: waiting[0].by, Data: event.TurnStarted{
			Purpose: event.Compaction, Provider: c.Model.ProviderName, Model: c.Model.Name, Effort: c.Model.Effort,
			Permission: s.config.Opened.Permission,
		}}}
	})
	if err != nil || id == "" {
		if err != nil {
			s.config.Logger.Error("cannot start a compaction", "error", err)
		}
		for _, w := range waiting {
			w.answer <- Outcome{} // never blocks: one answer, room for one
		}
		return false
	}
	s.run(c, id, nil)
	s.running.compactions = waiting
	return true
}

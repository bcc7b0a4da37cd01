package session

import (
	"context"
	"sync/atomic"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/turn"
)

// compaction is a client that waits for a compaction.
type compaction struct {
	by        string
	abandoned atomic.Bool  // the client does not wait any more
	answer    chan Outcome // capacity 1
}

// Compact compacts the history in a turn of its own, before other turns, and returns how that
// turn ended. If ctx ends first, a turn that has not started does not start; a running one
// continues until it is interrupted.
func (s *Session) Compact(ctx context.Context, by string) (Outcome, error) {
	c := &compaction{by: by, answer: make(chan Outcome, 1)}
	failed := make(chan error, 1)
	if err := s.do(ctx, func() {
		if len(s.closing) > 0 {
			failed <- ErrClosed // never blocks: one answer, capacity 1
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
		case o := <-c.answer: // answered before the end
			return o, nil
		default:
			return Outcome{}, ErrClosed
		}
	case <-ctx.Done():
		c.abandoned.Store(true)
		return Outcome{}, context.Cause(ctx)
	}
}

// startCompaction starts a turn for the clients that wait for a compaction, and reports
// whether it did.
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
			Permission: s.config.Opened.Permission, StreamLimits: turn.StreamLimits(c.Model.Timeouts),
		}}}
	})
	if err != nil || id == "" {
		if err != nil {
			s.config.Logger.Error("cannot start a compaction", "error", err)
		}
		for _, w := range waiting {
			w.answer <- Outcome{} // never blocks: one answer, capacity 1
		}
		return false
	}
	s.run(c, id, nil)
	s.running.compactions = waiting
	return true
}

// refuseCompactions answers the clients that wait for a compaction: none starts.
func (s *Session) refuseCompactions() {
	for _, c := range s.compactions {
		c.answer <- Outcome{} // never blocks: one answer, capacity 1
	}
	s.compactions = nil
}

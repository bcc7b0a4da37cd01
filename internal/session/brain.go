package session

import (
	"context"

	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
)

// Brain is what the next turns ask.
type Brain struct {
	Provider model.Provider
	Target   history.Target
	Bounds   turn.Bounds
	Limiter  *turn.Limiter // nil leaves the one there is
}

// SetBrain has the next turns ask another model; one that runs is left alone.
func (s *Session) SetBrain(ctx context.Context, b Brain) error {
	return s.do(ctx, func() {
		t := &s.config.Turn
		t.Provider, t.Target, t.Bounds = b.Provider, b.Target, b.Bounds
		if b.Limiter != nil {
			t.Limiter = b.Limiter
		}
	})
}

package settle

import (
	"context"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
)

// Interruption says which turn is to end, and how. The zero value means the one
// that runs, with grace.
type Interruption struct {
	// By says who asks: "user", a client's name.
	By string
	// Reason is the reason that the turn's ending gives; "" means interrupted.
	Reason event.Reason
	// Input, if set, is the id of the input that is meant: only its turn is
	// ended. An input that has not arrived yet is waited for; one that waits
	// behind another turn is held.
	Input string
	// Hurry leaves running calls no time to stop by themselves.
	Hurry bool
}

// Interrupt ends a turn and returns how it ended, after its terminal event is
// durable (C10). The turn may have completed instead; of an input whose turn is
// over, the Outcome is returned. If nothing was running that is meant, the
// Outcome is empty and returned at once.
func (s *Session) Interrupt(ctx context.Context, i Interruption) (Outcome, error) {
	o, err := s.actor.Interrupt(ctx, session.Request(i))
	if err != nil || o.Cause == nil {
		return Outcome{}, err
	}
	return s.outcome(o.Turn, o.Cause), nil
}

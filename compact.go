package settle

import (
	"context"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/turn"
)

// Compaction says how room is made when the model's window is nearly full.
type Compaction string

// The ways. A ledger holds what the log says: what the user said, files, commands,
// jobs. The latest part of the conversation stays as it is in any case.
const (
	CompactionAuto       Compaction = "auto"       // a summary by the model and a ledger replace what came before
	CompactionMechanical Compaction = "mechanical" // the ledger alone does; no model is asked
	CompactionOff        Compaction = "off"        // old outputs are shortened instead
)

func (c Compaction) ofTurn() turn.Compaction {
	if c == "" {
		return turn.CompactionAuto
	}
	return turn.Compaction(c)
}

// Compacted is what a compaction made of the history, in tokens of a request as
// settle counts them. Both are 0 if there was nothing to compact.
type Compacted struct{ Before, After int }

// Compact has the history of the session made shorter, by whatever
// SessionConfig.Compaction says, or mechanically if that is off. It is a turn of
// its own, which starts when the one that runs has ended; interrupt it like any
// other. The error is the cause if it did not complete. If ctx ends before the turn
// starts, it does not start.
func (s *Session) Compact(ctx context.Context, by string) (Compacted, error) {
	o, err := s.actor.Compact(ctx, by)
	if err != nil {
		return Compacted{}, err
	}
	if o.Cause == nil {
		return Compacted{}, ErrClosed
	}
	if o.Cause.Outcome != event.Completed {
		return Compacted{}, o.Cause
	}
	var c Compacted
	s.View(func(state event.State) {
		t := state.Turn(o.Turn)
		if t == nil {
			return
		}
		for _, change := range t.Changes {
			if change.Change == event.ChangeCompacted {
				if c.Before == 0 {
					c.Before = change.Before
				}
				c.After = change.Tokens
			}
		}
	})
	return c, nil
}

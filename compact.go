package settle

import (
	"context"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/turn"
)

// Compaction selects how settle makes room when the model's window is nearly full.
type Compaction string

// The modes of compaction. A digest has the facts of the log: the user's messages, files,
// commands, jobs. The latest part of the conversation stays unchanged in each mode.
const (
	CompactionAuto       Compaction = "auto"       // a digest and a summary by the model replace the older history
	CompactionMechanical Compaction = "mechanical" // the digest alone replaces the older history
	CompactionOff        Compaction = "off"        // settle shortens old outputs instead
)

func (c Compaction) ofTurn() turn.Compaction {
	if c == "" {
		return turn.CompactionAuto
	}
	return turn.Compaction(c)
}

// Compacted is the result of a compaction, in tokens of a request by settle's count. Both
// fields are 0 if there was nothing to compact.
type Compacted struct{ Before, After int }

// Compact compacts the history of the session as SessionConfig.Compaction selects, or
// mechanically if that is off. The compaction is a turn of its own, which starts when the
// running turn has ended; interrupt it like any other turn. The error is the turn's cause if
// it did not complete. If ctx ends before the turn starts, it does not start.
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

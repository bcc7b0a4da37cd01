package session

import (
	"errors"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
)

// update calls log.Update if the session is open. A caller outside the actor may race with the
// end of the session: the state that the update sees decides, and the error is [ErrClosed].
func update(log *journal.Log, f func(event.State) []event.Event) error {
	closed := false
	err := log.Update(func(state event.State) []event.Event {
		if closed = !state.Open; closed {
			return nil
		}
		return f(state)
	})
	if closed || errors.Is(err, journal.ErrClosed) {
		return ErrClosed
	}
	return err
}

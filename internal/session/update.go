package session

import (
	"errors"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
)

// update is log.Update for what needs an open session. Callers outside the
// actor may come while it closes the session: what they do is decided by the
// state that the update sees, and the answer is [ErrClosed].
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

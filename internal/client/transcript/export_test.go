package transcript

import (
	"iter"

	"github.com/settle-agent/settle/event"
)

// Replay yields the changes of a log from its first event on.
func Replay(log iter.Seq2[event.Event, error], mode Mode) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) { New(event.State{}, mode).follow(log, 0, yield) }
}

package transcript

import (
	"iter"
	"slices"

	"github.com/settle-agent/settle/event"
)

// Entry is an input or an item of a turn.
type Entry struct {
	Input *event.Input
	Item  *event.Item
}

// Entries yields the inputs and items of a turn, in order, without discarded items. An
// input that joined the turn comes before the model's response to it.
func Entries(t *event.Turn) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		if !yieldInputs(t.Inputs, yield) {
			return
		}
		attempts := t.Attempts
		join := func(n int) bool {
			joined := attempts[:n]
			attempts = attempts[n:]
			return !slices.ContainsFunc(joined, func(a *event.Attempt) bool { return !yieldInputs(a.Inputs, yield) })
		}
		for _, i := range t.Items {
			// Items are of the attempt that runs. Dates would not do: clocks jump.
			if !join(1 + slices.IndexFunc(attempts, func(a *event.Attempt) bool { return a.ID == i.Attempt })) {
				return
			}
			if !i.Discarded && !yield(Entry{Item: i}) {
				return
			}
		}
		join(len(attempts))
	}
}

func yieldInputs(inputs []event.Input, yield func(Entry) bool) bool {
	for n := range inputs {
		if !yield(Entry{Input: &inputs[n]}) {
			return false
		}
	}
	return true
}

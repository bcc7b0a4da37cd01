package history_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/model"
)

// talk asks for one request after the other.
type talk struct {
	*tape
	conversation history.Conversation
	last         []model.Item
}

// asks starts the next attempt with the inputs, and checks its request: it extends the previous
// request, and equals the request that is built from the whole log (C21).
func (k *talk) asks(inputs ...string) *talk {
	k.t.Helper()
	joining := slices.Clone(k.state.Waiting)
	b := k.conversation.Request(history.LogOf(k.state), target(), "sys", nil, joining...)
	if len(b.Input) < len(k.last) || len(k.last) > 0 && cmp.Diff(k.last, b.Input[:len(k.last)]) != "" {
		k.t.Errorf("the request does not extend the one before it:\n%s\nbefore:\n%s", show(b.Input), show(k.last))
	}
	if whole := history.Request(k.state, target(), "sys", nil, joining...); cmp.Diff(whole.Input, b.Input) != "" {
		k.t.Errorf("the request is\n%s\nof the whole log it is\n%s", show(b.Input), show(whole.Input))
	}
	k.last = b.Input
	k.attempt(inputs...)
	return k
}

func (k *talk) note(text string) {
	k.t.Helper()
	id := k.state.NextItem(0)
	k.add(
		event.Event{Turn: k.id(), Item: id, Data: event.ItemStarted{Type: event.Note}},
		event.Event{
			Turn: k.id(),
			Item: id,
			Data: event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Type: event.Note, Text: text}},
		},
	)
}

// TestRequestsExtendOneAnother, whatever comes between them.
func TestRequestsExtendOneAnother(t *testing.T) {
	k := &talk{tape: newTape(t)}
	k.turn("go")
	k.asks().text("Half an answer, and a pause.").endAttempt()
	k.asks().endAttempt() // "Continue." stays; the model says nothing
	k.add(event.Event{Data: event.InputAccepted{Input: "steer", Text: "be brief", Mode: event.Steer}})
	k.asks("steer").endAttempt() // and nothing again
	k.note("Your last response was cut.")
	k.asks()
	item := k.call("a", "{}", "starts")
	k.gives(item, "an output").endAttempt()
	k.asks().text("Partly").ends(event.Abort(event.Interrupted, "user"))
	k.add(event.Event{Data: event.JobStarted{Job: "j000001", PID: 1, Command: "web"}})
	k.turn("and now")
	k.asks().text("Done.").endAttempt().ends(event.Complete())
	k.turn("thanks")
	k.asks()
	if n := len(k.last); n < 12 {
		t.Errorf("the last request has %d items:\n%s", n, show(k.last))
	}
}

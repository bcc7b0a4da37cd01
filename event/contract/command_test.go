package contract_test

import (
	"slices"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
)

// A command that a person enters is run once, by the turn that it was given to, and
// needs no model.
func TestCommands(t *testing.T) {
	enter := func(id, input string) []event.Event {
		e := func(d event.Data) event.Event { return event.Event{Turn: "t1", Item: id, Data: d} }
		return []event.Event{
			e(event.ItemStarted{Type: event.ToolCall, CallID: input, Name: "shell"}),
			e(event.CallReady{CallID: input, Name: "shell", Arguments: "{}"}),
			e(event.CallStarted{}),
			e(
				event.ItemEnded{
					Status:  event.ItemCompleted,
					Content: event.Content{Type: event.ToolCall, CallID: input, Name: "shell", Arguments: "{}"},
				},
			),
		}
	}
	began := story{
		opened(), session(event.InputAccepted{Input: "n1", Text: "ls", Command: true}), accepted("n2"),
		turn("t1", event.TurnStarted{Inputs: []string{"n1"}}),
	}
	done := func(calls int) event.Event {
		return turn("t1", event.TurnCompleted{Summary: event.Summary{Calls: calls}})
	}
	for name, tt := range map[string]struct {
		want  string
		story story
	}{
		"run":              {"", append(append(began, enter("i1", "n1")...), done(1), session(event.InputDropped{Input: "n2"}))},
		"not run":          {"C19", append(began, done(0))},
		"run twice":        {"C5", append(append(append(began, enter("i1", "n1")...), enter("i2", "n1")...), done(2))},
		"another's":        {"C5", append(append(began, enter("i1", "n2")...), done(1))},
		"a call of nobody": {"C5", append(append(began, enter("i1", "")...), done(1))},
		"no model, though it was asked": {"C14", story{
			opened(), accepted("n1"), turn("t1", event.TurnStarted{Inputs: []string{"n1"}}), done(0),
		}},
	} {
		found := clauses(contract.Check(tt.story.log()))
		if tt.want == "" && len(found) > 0 || tt.want != "" && !slices.Contains(found, tt.want) {
			t.Errorf("%s: %q, want %q", name, found, tt.want)
		}
	}
}

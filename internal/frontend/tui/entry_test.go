package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
)

// A plan is a list of steps; one that was refused has its reason.
func TestPlanEntry(t *testing.T) {
	const arguments = `{"plan":[{"step":"Look.","status":"completed"},{"step":"Tell.","status":"in_progress"},{"step":"Rest.","status":"pending"}]}`
	for name, tt := range map[string]struct {
		status event.Status
		want   string
	}{
		"set":     {event.ItemCompleted, "✓ plan, 1 of 3 done: Tell.  0 ms\n  ☑ Look.\n  ▸ Tell.\n  ☐ Rest."},
		"refused": {event.ItemFailed, "✗ plan, 1 of 3 done: Tell.  failed\n  │ said"},
	} {
		var state event.State
		content := event.Content{Type: event.ToolCall, Name: "plan", CallID: "i", Arguments: arguments, Output: "said"}
		of := func(d event.Data) event.Event { return event.Event{Turn: "t", Attempt: "a", Item: "i", Data: d} }
		for n, e := range []event.Event{
			{Data: event.SessionOpened{Dir: "/w"}},
			{Data: event.InputAccepted{Input: "n", Text: "go"}},
			{Turn: "t", Data: event.TurnStarted{Inputs: []string{"n"}}},
			{Turn: "t", Attempt: "a", Data: event.AttemptStarted{Step: 1, N: 1}},
			of(event.ItemStarted{Type: event.ToolCall, Name: "plan", CallID: "i"}),
			of(event.CallReady{Name: "plan", CallID: "i", Arguments: arguments}),
			of(event.CallStarted{}),
			of(event.ItemEnded{Status: tt.status, Content: content}),
		} {
			e.V, e.Session, e.Seq, e.At = event.Version, "s", uint64(n+1), time.Unix(0, 0)
			var err error
			if state, err = event.Fold(state, e); err != nil {
				t.Fatal(err)
			}
		}
		var rows []string
		for _, row := range callEntry(state.Turn("t").Item("i"), "/w", nil).rows(40) {
			rows = append(rows, strings.TrimRight(row.Text(), " "))
		}
		if got := strings.Join(rows, "\n"); got != tt.want {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}

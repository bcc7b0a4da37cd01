package tui

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/markdown"
	"github.com/settle-agent/settle/internal/terminal/terminaltest"
)

// askedEdit is a session in which a call asks before it writes lines, and has written them
// if it was approved.
func askedEdit(t *testing.T, lines int, change func(*event.ApprovalRequested)) (events []event.Event) {
	t.Helper()
	diff := fmt.Sprintf("--- /dev/null\n+++ b/new.go\n@@ -0,0 +1,%d @@\n", lines)
	for n := range lines {
		diff += fmt.Sprintf("+line %d;\n", n+1)
	}
	created := map[string]any{"path": "new.go", "kind": "create", "diff": diff}
	detail, err := json.Marshal(map[string]any{"files": []any{created}})
	if err != nil {
		t.Fatal(err)
	}
	asked := event.ApprovalRequested{
		Approval: "p", Tool: "write", Title: "write new.go", Text: "write\n  create new.go:\n      " + diff,
		Detail: detail,
	}
	if change != nil {
		change(&asked)
	}
	const arguments = `{"path":"new.go"}`
	ready := event.CallReady{Name: "write", CallID: "c", Arguments: arguments}
	content := event.Content{Type: event.ToolCall, Name: "write", CallID: "c", Arguments: arguments, Detail: detail}
	approved := event.ApprovalEnded{Approval: "p", Verdict: event.Approved}
	for _, e := range []event.Event{
		{Data: event.SessionOpened{Dir: "/w"}},
		{Data: event.InputAccepted{Input: "n", Text: "write"}},
		{Turn: "t", Data: event.TurnStarted{Inputs: []string{"n"}}},
		{Turn: "t", Attempt: "a", Data: event.AttemptStarted{Step: 1, N: 1}},
		{Turn: "t", Attempt: "a", Item: "i", Data: event.ItemStarted{Type: event.ToolCall, Name: "write", CallID: "c"}},
		{Turn: "t", Attempt: "a", Item: "i", Data: ready},
		{Turn: "t", Attempt: "a", Item: "i", Data: asked},
		{Turn: "t", Attempt: "a", Item: "i", By: "user", Data: approved},
		{Turn: "t", Attempt: "a", Item: "i", Data: event.CallStarted{Title: "write new.go"}},
		{Turn: "t", Attempt: "a", Item: "i", Data: event.ItemEnded{Status: event.ItemCompleted, Content: content}},
	} {
		e.V, e.Session, e.Seq, e.At = event.Version, "s", uint64(len(events)+1), time.Unix(int64(len(events)), 0)
		events = append(events, e)
	}
	return events
}

// shownRows plays a session and returns the rows of the terminal.
func shownRows(events []event.Event) string {
	const width, height = 80, 100
	s := newStage(terminaltest.NewGrid(width, height), terminal.ReflowAll, width, height)
	s.take(events)
	s.show()
	return strings.Join(s.on.Rows(), "\n")
}

// A change is drawn once, with numbers, where the question is; after the approval only a
// line with the outcome follows.
func TestAskedEditIsShownOnce(t *testing.T) {
	got := shownRows(askedEdit(t, 3, nil))
	for text, want := range map[string]int{
		"     2 + line 2;": 1, "line 2;": 1, "new.go (create, +3 −0)": 1, "--- /dev/null": 0,
		"write new.go  +3 −0, 1.0 s": 1, "allowed once: write new.go": 1,
	} {
		if n := strings.Count(got, text); n != want {
			t.Errorf("%q is shown %d times, not %d:\n%s", text, n, want, got)
		}
	}
}

// The question is colored like the diff of a call that needed none.
func TestAskedEditIsColored(t *testing.T) {
	events := askedEdit(t, 3, nil)
	d, _ := events[6].Data.(event.ApprovalRequested)
	for _, row := range askEntry(&event.Approval{ApprovalRequested: d}, "/w", "s", "Ctrl-T").rows(80) {
		if strings.Contains(row.Text(), "line 2;") && row[0].Style != success() {
			t.Errorf("%q has the style %+v", row.Text(), row[0].Style)
		}
	}
}

// A long change shows its heading, its first and last lines, and the key for all of it,
// which works while the question waits.
func TestAskedLongEdit(t *testing.T) {
	events := askedEdit(t, 120, nil)[:7]
	got := shownRows(events)
	for text, want := range map[string]int{
		"new.go (create, +120 −0)": 1, "line 1;": 1, "line 30;": 1, "line 31;": 0, "line 110;": 0,
		"line 111;": 1, "line 120;": 1,
		"… 80 more lines (Ctrl-T shows all)": 1,
	} {
		if n := strings.Count(got, text); n != want {
			t.Errorf("%q is shown %d times, not %d:\n%s", text, n, want, got)
		}
	}
	var state event.State
	for _, e := range events {
		state, _ = event.Fold(state, e)
	}
	whole := 0
	for _, part := range transcriptSheet(markdown.NewRenderer(), state) {
		for _, row := range part(80) {
			if strings.Contains(row.Text(), " + line ") {
				whole++
			}
		}
	}
	if whole != 120 {
		t.Errorf("the transcript shows %d lines of the change, not 120", whole)
	}
}

// A drawing hides no part of the text, and a change that differs from the shown one is shown.
func TestAskedEditFallsBack(t *testing.T) {
	hidden := shownRows(askedEdit(t, 3, func(a *event.ApprovalRequested) { a.Text += "⟨U+202E⟩" }))
	if !strings.Contains(hidden, "⟨U+202E⟩") || strings.Count(hidden, "line 2;") != 2 {
		t.Errorf("a change with a hidden character:\n%s", hidden)
	}
	other := shownRows(askedEdit(t, 3, func(a *event.ApprovalRequested) {
		a.Detail = json.RawMessage(strings.ReplaceAll(string(a.Detail), "line 2", "line two"))
	}))
	if strings.Count(other, "line two;") != 1 || strings.Count(other, "line 2;") != 1 {
		t.Errorf("a change that differs from the question:\n%s", other)
	}
	link := func(a *event.ApprovalRequested) { a.Text += "\n  leads to: new.go -> /etc/x" }
	linked := shownRows(askedEdit(t, 3, link))
	if !strings.Contains(linked, "leads to: new.go -> /etc/x") {
		t.Errorf("a path through a link:\n%s", linked)
	}
}

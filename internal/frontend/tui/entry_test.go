package tui

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/terminaltest"
)

// endedCall returns the rows of a call that has ended, at a width.
func endedCall(t *testing.T, name, arguments string, ended event.ItemEnded, width int) string {
	t.Helper()
	var state event.State
	ended.Content.Type, ended.Content.Name, ended.Content.CallID = event.ToolCall, name, "i"
	ended.Content.Arguments = arguments
	begun, of := time.Unix(0, 0), func(d event.Data) event.Event {
		return event.Event{Turn: "t", Attempt: "a", Item: "i", Data: d}
	}
	for n, e := range []event.Event{
		{Data: event.SessionOpened{Dir: "/w"}},
		{Data: event.InputAccepted{Input: "n", Text: "go"}},
		{Turn: "t", Data: event.TurnStarted{Inputs: []string{"n"}}},
		{Turn: "t", Attempt: "a", Data: event.AttemptStarted{Step: 1, N: 1}},
		of(event.ItemStarted{Type: event.ToolCall, Name: name, CallID: "i"}),
		of(event.CallReady{Name: name, CallID: "i", Arguments: arguments}),
		of(event.CallStarted{}),
		of(ended),
	} {
		e.V, e.Session, e.Seq, e.At = event.Version, "s", uint64(n+1), begun
		if n == 7 {
			e.At = begun.Add(442 * time.Millisecond)
		}
		var err error
		if state, err = event.Fold(state, e); err != nil {
			t.Fatal(err)
		}
	}
	var rows []string
	for _, row := range callEntry(state, state.Turn("t"), state.Turn("t").Item("i"), nil, "Ctrl-T").rows(width) {
		if row.Width() > width {
			t.Errorf("%q is wider than %d", row.Text(), width)
		}
		rows = append(rows, strings.TrimRight(row.Text(), " "))
	}
	return strings.Join(rows, "\n")
}

// A write that changed nothing says so.
func TestUnchangedFileEntry(t *testing.T) {
	got := endedCall(t, "write", `{"path":"a.txt","content":"x"}`, event.ItemEnded{Status: event.ItemCompleted}, 80)
	if !strings.Contains(got, "a.txt (no change)") {
		t.Error(got)
	}
}

// A plan is a list of steps; one that was refused has its reason.
func TestPlanEntry(t *testing.T) {
	const arguments = `{"plan":[{"step":"Look.","status":"completed"},{"step":"Tell.","status":"in_progress"},{"step":"Rest.","status":"pending"}]}`
	for name, tt := range map[string]struct {
		status event.Status
		want   string
	}{
		"set":     {event.ItemCompleted, "✓ plan, 1 of 3 done: Tell.  442 ms\n  ☑ Look.\n  ▸ Tell.\n  ☐ Rest."},
		"refused": {event.ItemFailed, "✗ plan, 1 of 3 done: Tell.  failed\n  │ said"},
	} {
		ended := event.ItemEnded{Status: tt.status, Content: event.Content{Output: "said"}}
		if got := endedCall(t, "plan", arguments, ended, 40); got != tt.want {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}

// Notes of settle, such as a denial of the sandbox with advice, are shown completely. A line of the
// command itself has one row, and a note has a bound.
func TestCallEntryShowsWholeNotes(t *testing.T) {
	const note = "[the sandbox denied writing /w/.git/index.lock; run it in a call of its own]"
	lines := strings.Repeat("x", 50) + "\n[\"a\", \"" + strings.Repeat("b", 50) + "\"]\n"
	for output, want := range map[string]string{
		lines + note: "  │ " + strings.Repeat("x", 35) + "…\n  │ [\"a\", \"" + strings.Repeat("b", 28) + "…\n" +
			"  │ [the sandbox denied writing\n  │ /w/.git/index.lock; run it in a call\n  │ of its own]",
		"[" + strings.Repeat("word ", 200) + "end]": "  │ [word word word word word word word\n" +
			strings.Repeat("  │ word word word word word word word\n", 10) + "  │ … 18 more lines (Ctrl-T shows all)",
	} {
		ended := event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Output: output}}
		_, got, _ := strings.Cut(endedCall(t, "shell", `{"command":"make"}`, ended, 40), "\n")
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// A command is shown with its own spaces, and an outcome keeps each number with its unit.
func TestCallEntryKeepsSpacesAndUnits(t *testing.T) {
	const arguments = `{"command":"printf '%s\\n' 'ok  session' 'FAIL turn: TestLate'; exit 1"}`
	code := 1
	ended := event.ItemEnded{Status: event.ItemFailed, Content: event.Content{ExitCode: &code}}
	got := endedCall(t, "shell", arguments, ended, 80)
	if !strings.HasPrefix(got, `✗ $ printf '%s\n' 'ok  session' 'FAIL turn: TestLate'; exit 1  exit code`) {
		t.Errorf("got\n%s", got)
	}
	for width := 12; width <= 120; width++ {
		got := endedCall(t, "shell", arguments, ended, width)
		if width >= 16 && !strings.Contains(got, "exit code 1,") || !strings.Contains(got, "442 ms") {
			t.Errorf("at %d columns:\n%s", width, got)
		}
	}
}

// A call of a tool without a form of its own is shown by its title, and a server's call by its arguments.
func TestCallEntryHasTitle(t *testing.T) {
	ended := event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Output: "It is in a.go."}}
	for _, c := range [][3]string{
		{"task", `{"agent":"look","description":"find it","prompt":"Find it."}`, "✓ look: find it"},
		{"check_task", `{"task":"c1"}`, "✓ check task c1"},
		{"files__read", `{"path":"x"}`, `✓ files__read {"path":"x"}`},
	} {
		if got := endedCall(t, c[0], c[1], ended, 80); !strings.HasPrefix(got, c[2]) {
			t.Errorf("got\n%s\nwant %s", got, c[2])
		}
	}
}

// The first and the last lines of a long output are shown, and how many are between them.
func TestCallEntryShowsBothEndsOfOutput(t *testing.T) {
	lines := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %d\n", i+1)
		}
		return b.String()
	}
	const left = "  │ … 93 more lines (Ctrl-T shows all)\n"
	for name, tt := range map[string]struct {
		tool, output, want string
		status             event.Status
	}{
		"none":  {"shell", "", "", event.ItemCompleted},
		"short": {"shell", "one\ntwo\n", "  │ one\n  │ two\n", event.ItemCompleted},
		"one more than there is room for": {
			"shell", lines(8), strings.ReplaceAll(lines(8), "line", "  │ line"), event.ItemCompleted,
		},
		"long": {
			"shell", lines(100), "  │ line 1\n  │ line 2\n  │ line 3\n" + left +
				"  │ line 97\n  │ line 98\n  │ line 99\n  │ line 100\n", event.ItemCompleted,
		},
		"long of a tool that failed": {
			"read", lines(96), "  │ line 1\n" + left + "  │ line 95\n  │ line 96\n", event.ItemFailed,
		},
	} {
		ended := event.ItemEnded{Status: tt.status, Content: event.Content{Output: tt.output}}
		_, got, _ := strings.Cut(endedCall(t, tt.tool, `{"command":"x","path":"x"}`, ended, 60)+"\n", "\n")
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

// Of a long message of the person, the first and the last rows are shown. The transcript has all of them.
func TestLongInputIsShortened(t *testing.T) {
	var b strings.Builder
	for n := range 20_000 {
		fmt.Fprintf(&b, "line %d\n", n+1)
	}
	in := &event.Input{Text: b.String()}
	var rows []string
	for _, row := range shortInput(in, "Ctrl-T").rows(80) {
		rows = append(rows, row.Text())
	}
	if len(rows) != maxInput+1 || rows[0] != "▌ line 1" || rows[29] != "▌ line 30" ||
		rows[30] != "▌ … 19960 more lines (Ctrl-T shows all)" || rows[31] != "▌ line 19991" ||
		rows[40] != "▌ line 20000" {
		t.Errorf("%d rows:\n%s", len(rows), strings.Join(rows, "\n"))
	}
	if n := len(inputEntry(in).rows(80)); n != 20_000 {
		t.Errorf("the transcript has %d rows", n)
	}
}

// A call that ended before an earlier one has the mark of its outcome while it waits for its place.
func TestEndedCallHasMarkOfOutcome(t *testing.T) {
	var events []event.Event
	add := func(e event.Event) {
		e.V, e.Session, e.Seq, e.At = event.Version, "s", uint64(len(events)+1), time.Unix(int64(len(events)), 0)
		events = append(events, e)
	}
	add(event.Event{Data: event.SessionOpened{Dir: "/w"}})
	add(event.Event{Data: event.InputAccepted{Input: "n", Text: "go"}})
	add(event.Event{Turn: "t", Data: event.TurnStarted{Inputs: []string{"n"}}})
	add(event.Event{Turn: "t", Attempt: "a", Data: event.AttemptStarted{Step: 1, N: 1}})
	item := func(id string, d event.Data) { add(event.Event{Turn: "t", Attempt: "a", Item: id, Data: d}) }
	for _, id := range []string{"one", "two", "three"} {
		item(id, event.ItemStarted{Type: event.ToolCall, Name: "shell", CallID: id})
		item(id, event.CallReady{Name: "shell", CallID: id, Arguments: `{"command":"make ` + id + `"}`})
		item(id, event.CallStarted{Title: "make " + id})
	}
	for id, status := range map[string]event.Status{"two": event.ItemCompleted, "three": event.ItemFailed} {
		item(id, event.ItemEnded{Status: status, Content: event.Content{
			Type: event.ToolCall, Name: "shell", CallID: id, Arguments: `{"command":"make ` + id + `"}`,
		}})
	}
	got := shownRows(events)
	for _, want := range []string{"● $ make one", "✓ $ make two", "✗ $ make three"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not shown:\n%s", want, got)
		}
	}
}

// crashed is a session that the host found after a crash.
type crashed struct {
	mute
	events []event.Event
}

func (c *crashed) Events(context.Context, uint64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for _, e := range c.events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// The opening of a session says what the crash cut, in the words of settle run.
func TestOpeningNamesCutTurn(t *testing.T) {
	c := &crashed{events: []event.Event{
		{Seq: 4, Data: event.SessionRecovered{PID: 7, Ended: 2}},
		{Seq: 5, Data: event.SessionOpened{Dir: "/w"}},
	}}
	s := newStage(terminaltest.NewGrid(80, 24), terminal.ReflowAll, 80, 24)
	s.showOpening(t.Context(), c, event.State{
		HostSeq: 5, Turns: []*event.Turn{{Cause: event.Abort(event.Crashed, "host")}},
	})
	s.commitFinished()
	s.show()
	if got := strings.Join(s.on.Rows(), " "); !strings.Contains(got, "its turn was still running") {
		t.Errorf("the terminal shows:\n%s", got)
	}
}

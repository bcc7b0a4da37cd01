package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/terminaltest"
)

// newStatusStage is a stage of a width whose host opened the session in a sandbox, or none.
func newStatusStage(width int, mode event.Sandbox) *stage {
	s := newStage(terminaltest.NewGrid(width, 24), terminal.ReflowAll, width, 24)
	s.Place = "~/work/project"
	opened := event.SessionOpened{Dir: "/w", Confinement: &event.Confinement{Mode: mode}}
	first := event.Event{V: event.Version, Session: "s", Seq: 1, At: time.Now(), Data: opened}
	state, _ := event.Fold(event.State{}, first)
	s.view.log = transcript.New(state, transcript.Live)
	return s
}

func texts(rows []terminal.Line) (list []string) {
	for _, row := range rows {
		list = append(list, row.Text())
	}
	return list
}

// The status states the sandbox of commands, and at each width it keeps the directory and the calls
// that need an approval.
func TestStatusKeepsUsefulParts(t *testing.T) {
	for _, c := range []struct {
		width   int
		sandbox event.Sandbox
		want    string
	}{
		{120, event.Workspace, "chat/m · asks before edits · commands sandboxed in this directory · ~/work/project"},
		{120, event.NoSandbox, "chat/m · asks before changes · ~/work/project"},
		{80, event.Workspace, "chat/m · asks before edits · commands sandboxed · ~/work/project"},
		{60, event.Workspace, "chat/m · asks before edits · ~/work/project"},
		{44, event.Workspace, "chat/m · asks before edits · ~/work/project"},
		{40, event.Workspace, "m · asks before edits · ~/work/project"}, // the provider is left out first
		{36, event.Workspace, "asks before edits · ~/work/project"},
		{30, event.Workspace, "asks before edits · project"},
		{24, event.Workspace, "ask · project"},
		{12, event.Workspace, "ask"},
	} {
		got := texts(newStatusStage(c.width, c.sandbox).status(c.width, time.Now()))
		if !slices.Equal(got, []string{c.want}) {
			t.Errorf("at %d columns: %q", c.width, got)
		}
	}
}

// While a turn runs, a narrow window also shows the directory and the calls that need an approval.
func TestStatusKeepsUsefulPartsWhileWorking(t *testing.T) {
	for _, c := range []struct {
		width int
		want  string
	}{
		{
			120, "working 6.0 s (Esc interrupts) · chat/m · asks before edits · " +
				"commands sandboxed in this directory · ~/work/project",
		},
		{80, "working 6.0 s (Esc interrupts) · chat/m · asks before edits · ~/work/project"},
		{60, "working 6.0 s · asks before edits · ~/work/project"},
		{43, "working 6.0 s · asks before edits · project"},
		{40, "working · asks before edits · project"},
		{30, "working · ask · project"},
	} {
		s := newStatusStage(c.width, event.Workspace)
		now := time.Now()
		state, err := event.Fold(s.state(), event.Event{
			V: event.Version, Session: "s", Seq: 2, At: now.Add(-6 * time.Second), Turn: "t000001",
			Data: event.TurnStarted{},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.view.log = transcript.New(state, transcript.Live)
		if got := texts(s.status(c.width, now)); !slices.Equal(got, []string{c.want}) {
			t.Errorf("at %d columns: %q", c.width, got)
		}
	}
}

// A silent stream says so, with the time when settle ends it; a running call is more important.
func TestStatusNamesSilence(t *testing.T) {
	now := time.Now()
	silent := func(width int, more ...event.Data) string {
		s := newStatusStage(width, event.Workspace)
		state, at := s.state(), now.Add(-time.Minute)
		limits := &event.StreamLimits{FirstMS: 600_000, StallMS: 180_000, ThinkingMS: 900_000}
		start := []event.Data{event.TurnStarted{StreamLimits: limits}, event.AttemptStarted{}}
		for n, d := range append(start, more...) {
			e := event.Event{V: event.Version, Session: "s", Seq: uint64(n) + 2, At: at, Turn: "t000001", Data: d}
			if n > 0 {
				e.Attempt = "a000001"
			}
			if n > 1 {
				e.At, e.Item = now.Add(-45*time.Second), "i000001"
			}
			var err error
			if state, err = event.Fold(state, e); err != nil {
				t.Fatal(err)
			}
		}
		s.view.log = transcript.New(state, transcript.Live)
		return strings.Join(texts(s.status(width, now)), "\n")
	}
	text := []event.Data{event.ItemStarted{Type: event.Message}, event.ItemDelta{Stream: event.Text, Text: "Some"}}
	call := []event.Data{
		event.ItemStarted{Type: event.ToolCall, Name: "shell"},
		event.CallReady{Name: "shell", Arguments: "{}"},
		event.CallStarted{},
	}
	question := append(call[:2:2], event.ApprovalRequested{Approval: "p000001", Tool: "shell", Title: "make"})
	form := append(call[:3:3], event.ApprovalRequested{
		Approval: "p000001", Tool: "ask_user", Form: &event.Form{Questions: []event.Question{{Question: "Which?"}}},
	})
	for _, c := range []struct {
		width int
		log   []event.Data
		want  string
	}{
		{100, form, "waiting for you 45 s (Esc declines) · chat/m · asks before edits · ~/work/project"},
		{100, question, "waiting for you 45 s (Esc interrupts) · chat/m · asks before edits · ~/work/project"},
		{100, nil, "no answer for 1m, cut after 10m (Esc interrupts) · chat/m · asks before edits · ~/work/project"},
		{
			100, text,
			"model silent for 45 s, cut after 3m (Esc interrupts) · chat/m · asks before edits · ~/work/project",
		},
		{80, text, "model silent for 45 s, cut after 3m · asks before edits · ~/work/project"},
		{40, text, "model silent for 45 s · ask · project"},
		{100, call, "working 1m0s (Esc interrupts) · chat/m · asks before edits · commands sandboxed · ~/work/project"},
	} {
		if got := silent(c.width, c.log...); got != c.want {
			t.Errorf("at %d columns: %q", c.width, got)
		}
	}
}

// A long message has its own rows, and is whole.
func TestStatusWrapsMessages(t *testing.T) {
	for _, width := range []int{30, 40, 80, 120} {
		s := newStatusStage(width, event.NoSandbox)
		s.display.hint = "cannot change: " + strings.Repeat("the server refused it ", 6) + "and nothing changed"
		got := texts(s.status(width, time.Now()))
		for _, row := range got {
			if terminal.TextWidth(row) > width {
				t.Errorf("at %d columns: a row of %d: %q", width, terminal.TextWidth(row), row)
			}
		}
		if last := len(got) - 1; strings.Join(got[:last], " ") != s.display.hint {
			t.Errorf("at %d columns: %q", width, got)
		} else if !strings.Contains(got[last], "asks before changes") {
			t.Errorf("at %d columns, the status is %q", width, got[last])
		}
	}
}

// A message beside the status does not repeat it, and a message above it hides nothing.
func TestStatusDoesNotRepeatMessage(t *testing.T) {
	s := newStatusStage(80, event.NoSandbox)
	s.display.hint = "from the next call on: asks before changes"
	for width, want := range map[int][]string{
		100: {"from the next call on: asks before changes · chat/m · ~/work/project"},
		80:  {"from the next call on: asks before changes", "chat/m · asks before changes · ~/work/project"},
	} {
		if got := texts(s.status(width, time.Now())); !slices.Equal(got, want) {
			t.Errorf("at %d columns: %q", width, got)
		}
	}
}

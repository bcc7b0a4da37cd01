package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// messages returns a short form of the messages that an encoder writes for the events.
func messages(t *testing.T, partial bool, events ...event.Event) []string {
	t.Helper()
	var b bytes.Buffer
	out := lines{stdio.NewOutput(&b, func(err error) { t.Error(err) }), StreamJSON}
	l := &encoder{
		session: "s", dir: "/w", out: out, partial: partial, log: transcript.New(event.State{}, transcript.Live), waiting: func() int { return 0 }, window: &atomic.Int64{},
		usage: map[string]modelUsage{},
		head: func(model string) notice {
			return newNotice("s", "init", map[string]any{"model": model})
		},
	}
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for n, e := range events {
		e.V, e.Session, e.Seq, e.At = event.Version, "s", uint64(n+1), at.Add(time.Duration(n)*time.Second)
		if err := l.take(e); err != nil {
			t.Fatalf("event %d, %s: %v", e.Seq, e.Kind(), err)
		}
	}
	if out.Close(func() time.Duration { return clienttest.Patience }) != nil {
		t.Fatal("not everything was written")
	}
	var short []string
	numbers := map[string]int{} // of messages, by uuid
	for line := range strings.Lines(b.String()) {
		var m struct {
			Type, Subtype, UUID string
			Message             json.RawMessage
			Supersedes          []string
			Aborted             bool
			Result              *string
			Errors              []string
			Terminal            string   `json:"terminal_reason"`
			Denials             []denial `json:"permission_denials"`
			Attempt             int
			Event               struct {
				Type  string
				Delta map[string]any
			}
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		numbers[m.UUID] = len(short)
		text := strings.TrimSuffix(m.Type+"/"+m.Subtype, "/")
		var said struct{ Content []part }
		_ = json.Unmarshal(m.Message, &said) // of a notice it is a text
		for _, p := range said.Content {
			text += fmt.Sprintf(" %s %s%s%s%s", p.Type, p.Text, p.ID, p.Call, p.Content)
		}
		for _, id := range m.Supersedes {
			text += fmt.Sprintf(" instead of %d", numbers[id])
		}
		if m.Aborted {
			text += " aborted"
		}
		if m.Type == "result" {
			text += fmt.Sprintf(" %s %d denials", m.Terminal, len(m.Denials))
		}
		if m.Result != nil {
			text += " " + *m.Result
		}
		if m.Event.Type != "" {
			text += " " + m.Event.Type
			for _, key := range []string{"text", "partial_json", "stop_reason"} {
				if v := m.Event.Delta[key]; v != nil {
					text += fmt.Sprint(" ", v)
				}
			}
		}
		short = append(short, strings.TrimSpace(text+" "+strings.Join(m.Errors, "; ")))
	}
	return short
}

// part is a block that comes back from JSON.
type part struct {
	Type, Text, ID string
	Call           string `json:"tool_use_id"`
	Content        string
}

func begun() []event.Event {
	return []event.Event{
		{By: "host", Data: event.SessionOpened{Settle: "x", Dir: "/w"}},
		{By: by, Data: event.InputAccepted{Input: uuid1, Text: "hi"}},
		{Turn: "t1", Data: event.TurnStarted{Inputs: []string{uuid1}, Model: "m"}},
	}
}

func in(attempt, item string, data event.Data) event.Event {
	return event.Event{Turn: "t1", Attempt: attempt, Item: item, Data: data}
}

func attempt(id string, n int) event.Event {
	return in(id, "", event.AttemptStarted{Step: 1, N: n, Model: "m"})
}

func saying(attempt, item, text string) []event.Event {
	return []event.Event{
		in(attempt, item, event.ItemStarted{Type: event.Message}),
		in(attempt, item, event.ItemDelta{Stream: event.Text, Text: text}),
		in(
			attempt, item,
			event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Type: event.Message, Text: text}},
		),
	}
}

func calling(attempt, item, id string) []event.Event {
	return []event.Event{
		in(attempt, item, event.ItemStarted{Type: event.ToolCall, CallID: id, Name: "shell"}),
		in(attempt, item, event.CallReady{Name: "shell", CallID: id, Arguments: `{"command":"ls"}`}),
	}
}

func called(attempt, item, id string, status event.Status, more event.ItemEnded) event.Event {
	more.Status = status
	more.Content = event.Content{
		Type:      event.ToolCall,
		CallID:    id,
		Name:      "shell",
		Arguments: `{"command":"ls"}`,
		Output:    "out",
	}
	return in(attempt, item, more)
}

func join(parts ...any) (out []event.Event) {
	for _, p := range parts {
		switch p := p.(type) {
		case event.Event:
			out = append(out, p)
		case []event.Event:
			out = append(out, p...)
		}
	}
	return out
}

// The text of a failed attempt is sent once, by the attempt that succeeds; if the client was asked
// about a call of the failed attempt, the later message replaces the earlier ones.
func TestTellOfFailedAttempts(t *testing.T) {
	retry := int64(500)
	failure := &event.Failure{Name: "x", Kind: "reset", Message: "reset", Attempt: 1, RetryLimit: 5}
	failed := func(discarded ...string) event.Event {
		return in(
			"a1", "",
			event.AttemptEnded{Outcome: event.Failed, Failure: failure, RetryIn: &retry, Discarded: discarded},
		)
	}
	again := join(
		attempt("a2", 2),
		saying("a2", "i3", "Again."),
		in("a2", "", event.AttemptEnded{Outcome: event.Completed, StopReason: "end_turn"}),
		event.Event{Turn: "t1", Data: event.TurnCompleted{Summary: event.Summary{Steps: 1, Attempts: 2}}},
	)
	for name, c := range map[string]struct {
		events []event.Event
		want   []string
	}{
		"told once": {
			join(begun(), attempt("a1", 1), saying("a1", "i1", "Once."), failed("i1"), again),
			[]string{"system/init", "system/api_retry", "assistant text Again.", "result/success completed 0 denials Again."},
		},
		"asked about": {
			join(begun(), attempt("a1", 1), saying("a1", "i1", "Once."), calling("a1", "i2", "c1"),
				in("a1", "i2", event.ApprovalRequested{Approval: "p1", Tool: "shell"}),
				in("a1", "i2", event.ApprovalEnded{Approval: "p1", Verdict: event.Expired}),
				called("a1", "i2", "c1", event.ItemAborted, event.ItemEnded{Effects: event.EffectsNone, Cause: event.Fail(failure)}),
				failed("i1", "i2"), again),
			[]string{
				"system/init", "assistant text Once.", "assistant tool_use c1", "user tool_result c1out\nThe call was ended: failed: reset; effects: none",
				"system/api_retry", "assistant text Again. instead of 1 instead of 2 instead of 3", "result/success completed 0 denials Again.",
			},
		},
		"a call that started is kept": {
			join(begun(), attempt("a1", 1), saying("a1", "i1", "Once."), calling("a1", "i2", "c1"), in("a1", "i2", event.CallStarted{}), failed(),
				called("a1", "i2", "c1", event.ItemCompleted, event.ItemEnded{}), again),
			[]string{
				"system/init", "assistant text Once.", "assistant tool_use c1", "system/api_retry", "user tool_result c1out",
				"assistant text Again.", "result/success completed 0 denials Again.",
			},
		},
	} {
		if diff := cmp.Diff(c.want, messages(t, false, c.events...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An interrupted turn sends its text so far, and the reason of its end.
func TestTellOfAnInterrupt(t *testing.T) {
	cause := event.Abort(event.Interrupted, by)
	got := messages(t, false, join(
		begun(),
		attempt("a1", 1),
		in("a1", "i1", event.ItemStarted{Type: event.Message}),
		in("a1", "i1", event.ItemDelta{Stream: event.Text, Text: "I th"}),
		event.Event{Turn: "t1", By: by, Data: event.InterruptRequested{Reason: event.Interrupted}},
		in(
			"a1",
			"i1",
			event.ItemEnded{
				Status:  event.ItemAborted,
				Cause:   cause,
				Content: event.Content{Type: event.Message, Text: "I th"},
			},
		),
		in("a1", "", event.AttemptEnded{Outcome: event.Aborted, Reason: event.Interrupted}),
		event.Event{Turn: "t1", By: by, Data: event.TurnAborted{Reason: event.Interrupted}},
	)...)
	want := []string{
		"system/init",
		"assistant text I th aborted",
		"result/error_during_execution aborted_streaming 0 denials interrupted",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A policy that answers is named, and the call is in the result.
func TestTellOfADenial(t *testing.T) {
	got := messages(t, false, join(
		begun(),
		attempt("a1", 1),
		calling("a1", "i1", "c1"),
		in("a1", "i1", event.ApprovalRequested{Approval: "p1", Tool: "shell"}),
		in("a1", "i1", event.ApprovalEnded{Approval: "p1", Verdict: event.Denied, Policy: "deny", Message: "no"}),
		called("a1", "i1", "c1", event.ItemFailed, event.ItemEnded{}),
		in("a1", "", event.AttemptEnded{Outcome: event.Completed, StopReason: "tool_use"}),
		event.Event{
			Turn: "t1",
			Data: event.TurnAborted{
				Reason:  event.LimitReached,
				Limit:   event.LimitSteps,
				Summary: event.Summary{Steps: 1},
			},
		},
	)...)
	want := []string{
		"system/init", "assistant tool_use c1", "system/permission_denied", "user tool_result c1out",
		"result/error_max_turns max_turns 1 denials Reached maximum number of turns (1)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Deltas come as Anthropic's events, arguments whole and in Claude's names.
func TestTellPartially(t *testing.T) {
	got := messages(t, true, join(
		begun(),
		attempt("a1", 1),
		saying("a1", "i1", "Hi."),
		calling("a1", "i2", "c1"),
		in("a1", "i2", event.CallStarted{}),
		called("a1", "i2", "c1", event.ItemCompleted, event.ItemEnded{}),
		in("a1", "", event.AttemptEnded{Outcome: event.Completed, StopReason: "tool_use"}),
	)...)
	want := []string{
		"system/init", "stream_event message_start", "stream_event content_block_start", "stream_event content_block_delta Hi.", "stream_event content_block_stop",
		"stream_event content_block_start", `stream_event content_block_delta {"command":"ls"}`, "stream_event content_block_stop",
		"assistant text Hi.", "assistant tool_use c1", "user tool_result c1out", "stream_event message_delta tool_use", "stream_event message_stop",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCompaction: the SDK has a message for it, and none for the summary.
func TestCompaction(t *testing.T) {
	at := func(d event.Data) event.Event { return event.Event{Turn: "t1", Attempt: "a1", Item: "i1", Data: d} }
	begin := []event.Event{
		{Data: event.SessionOpened{}},
		{Turn: "t1", Data: event.TurnStarted{Purpose: event.Compaction}},
		{Turn: "t1", Attempt: "a1", Data: event.AttemptStarted{Purpose: event.Compaction}},
		at(event.ItemStarted{Type: event.Digest}), at(event.ItemDelta{Stream: event.Text, Text: "## Goal"}),
		at(event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Type: event.Digest, Text: "## Goal"}}),
		{Turn: "t1", Attempt: "a1", Data: event.AttemptEnded{Outcome: event.Completed}},
	}
	before := messages(t, true, begin...)
	got := messages(
		t,
		true,
		append(
			begin,
			event.Event{
				Turn: "t1",
				Data: event.HistoryChanged{
					Change:  event.ChangeCompacted,
					Trigger: event.TriggerRequest,
					Before:  9000,
					Tokens:  1000,
				},
			},
		)...)
	if len(before) != 1 || len(got) != 2 || !strings.Contains(got[1], "compact_boundary") {
		t.Errorf("before: %q\nafter: %q", before, got)
	}
}

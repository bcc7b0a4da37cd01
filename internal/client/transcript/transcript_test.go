package transcript_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/shell"
)

// echo is a tool that says its argument.
func echo(t *testing.T) tool.Tool {
	t.Helper()
	made, err := tool.New("echo", "says it", func(_ context.Context, in struct {
		Text string `json:"text"`
	},
	) (string, error) {
		if in.Text == "fail" {
			return "", fmt.Errorf("no echo")
		}
		return in.Text, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// open opens a session whose model follows the script.
func open(t *testing.T, m *script.Model) *settle.Session {
	t.Helper()
	host, err := settle.Open(t.Context(), settle.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s, err := host.Session(
		t.Context(), "S",
		settle.SessionConfig{
			Model: model.Config{Provider: m, Name: "m"}, WorkDir: "/w", Permission: settle.Allow,
			Tools: []tool.Tool{echo(t)},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ran is a session that has run one turn for each input, and its log.
func ran(t *testing.T, m *script.Model, inputs ...string) (*settle.Session, []event.Event) {
	t.Helper()
	s := open(t, m)
	for _, text := range inputs {
		turn, err := s.Submit(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		if o, err := turn.Wait(t.Context()); o.Cause == nil {
			t.Fatal(err)
		}
	}
	return s, eventsOf(t, s)
}

func eventsOf(t *testing.T, s *settle.Session) []event.Event {
	t.Helper()
	var log []event.Event
	for e, err := range s.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if log = append(log, e); e.Seq == s.State().Seq {
			break
		}
	}
	return log
}

func each(log []event.Event) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for _, e := range log {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// line is a change in words.
func line(c transcript.Change) string {
	words := []string{string(c.Thing), string(c.What)}
	switch c.Thing {
	case transcript.Item:
		words = append(words, c.Item.ID, string(c.Item.Type()))
		if c.What == transcript.Grew {
			words = append(words, string(c.Stream), fmt.Sprintf("%q", c.Text))
		}
		if c.What == transcript.Ready {
			words = append(words, string(c.Call().Arguments))
		}
	case transcript.Input:
		words = append(words, c.Input.Text)
	}
	return strings.Join(words, " ")
}

// lines are all changes of a log. Pieces of a text that follow each other are one:
// how many there are depends on how soon they were written.
func lines(t *testing.T, log []event.Event, mode transcript.Mode) (out []string) {
	t.Helper()
	var last transcript.Change
	for c, err := range transcript.Replay(each(log), mode) {
		if err != nil {
			t.Fatal(err)
		}
		if c.What == transcript.Grew && last.What == transcript.Grew && c.Item.ID == last.Item.ID &&
			c.Stream == last.Stream {
			c.Text = last.Text + c.Text
			out = out[:len(out)-1]
		}
		out, last = append(out, line(c)), c
	}
	return out
}

// troubled is a model that is cut off twice: after a call has started, and before.
func troubled() *script.Model {
	return script.New(
		script.Turn(
			script.Reasoning("Hm."), script.Text("I ", "look."), script.Call("echo", `{"text":"hi"}`),
			script.Delay(time.Second), script.Text("And th"), script.Cut(),
		),
		script.Turn(script.Text("half an ans"), script.Fail(model.NewError(model.ErrConnection, "reset"))),
		script.Turn(script.Call("echo", `{"text":"fail"}`), script.Call("echo", `{"text":"more"}`)),
		script.Turn(script.Text("Done.")),
	)
}

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, log := ran(t, troubled(), "go")
		want := strings.Split(strings.TrimSpace(`
session started
input started go
turn started
input ended go
attempt started
item started i000001 reasoning
item grew i000001 reasoning text "Hm."
item ended i000001 reasoning
item started i000002 message
item grew i000002 message text "I look."
item ended i000002 message
item started i000003 tool_call
item grew i000003 tool_call arguments "{\"text\":\"hi\"}"
item ready i000003 tool_call {"text":"hi"}
item committed i000001 reasoning
item committed i000002 message
item committed i000003 tool_call
item running i000003 tool_call
item ended i000003 tool_call
item started i000004 message
item grew i000004 message text "And th"
item ended i000004 message
item discarded i000004 message
attempt ended
attempt started
item started i000005 message
item grew i000005 message text "half an ans"
item ended i000005 message
item discarded i000005 message
attempt ended
attempt started`), "\n")
		got := lines(t, log, transcript.Live)
		if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// C13: a repeated text is reported once, and each item when it is committed.
func TestFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, log := ran(t, troubled(), "go")
		live, final, complete := lines(t, log, transcript.Live), lines(t, log, transcript.Final), lines(
			t, log, transcript.Complete,
		)
		for _, text := range []string{"And th", "half an ans"} {
			if strings.Contains(strings.Join(final, "\n"), text) {
				t.Errorf("%q was discarded, and told: %q", text, final)
			}
			if !strings.Contains(strings.Join(complete, "\n"), text) {
				t.Errorf("%q is not told: %q", text, complete)
			}
		}
		at := slices.Index(final, "attempt started")
		if diff := cmp.Diff([]string{
			"attempt started",
			"item started i000001 reasoning", `item grew i000001 reasoning text "Hm."`, "item ended i000001 reasoning", "item committed i000001 reasoning",
			"item started i000002 message", `item grew i000002 message text "I look."`, "item ended i000002 message", "item committed i000002 message",
			"item started i000003 tool_call", `item ready i000003 tool_call {"text":"hi"}`, "item committed i000003 tool_call", "item running i000003 tool_call",
		}, final[at:at+13]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, line := range final {
			if !slices.Contains(live, line) && !strings.Contains(line, " grew ") {
				t.Errorf("%s: only the mode Final tells it", line)
			}
		}
	})
}

// interleaved is a log in which a message goes on while a call that came after it
// runs, and ends before the attempt fails.
func interleaved() []event.Event {
	var wait int64
	of := func(item string, d event.Data) event.Event {
		return event.Event{Turn: "t", Attempt: "a", Item: item, Data: d}
	}
	log := []event.Event{
		{Data: event.SessionOpened{}},
		{Data: event.InputAccepted{Input: "n", Text: "go"}},
		{Turn: "t", Data: event.TurnStarted{Inputs: []string{"n"}}},
		of("", event.AttemptStarted{Step: 1, N: 1}),
		of("i1", event.ItemStarted{Type: event.Message}),
		of("i1", event.ItemDelta{Stream: event.Text, Text: "while it "}),
		of("i2", event.ItemStarted{Type: event.ToolCall, Name: "shell"}),
		of("i2", event.CallReady{Name: "shell", Arguments: "{}"}),
		of("i2", event.CallStarted{}),
		of("i1", event.ItemDelta{Stream: event.Text, Text: "runs"}),
		of(
			"i1",
			event.ItemEnded{
				Status:  event.ItemCompleted,
				Content: event.Content{Type: event.Message, Text: "while it runs"},
			},
		),
		of("i3", event.ItemStarted{Type: event.Message}),
		of(
			"i3",
			event.ItemEnded{
				Status: event.ItemAborted, Cause: event.Fail(&event.Failure{Message: "cut"}),
				Content: event.Content{Type: event.Message},
			},
		),
		of(
			"",
			event.AttemptEnded{
				Outcome: event.Failed, Failure: &event.Failure{Message: "cut"}, RetryIn: &wait,
				Discarded: []string{"i3"},
			},
		),
		of(
			"i2",
			event.ItemEnded{
				Status:  event.ItemCompleted,
				Content: event.Content{Type: event.ToolCall, Name: "shell", Arguments: "{}", Output: "ok"},
			},
		),
		{Turn: "t", Data: event.TurnAborted{Reason: event.Interrupted}},
	}
	for n := range log {
		log[n].V, log[n].Session, log[n].Seq = event.Version, "S", uint64(n+1)
	}
	return log
}

func TestTranscriptShowsEachItemOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, log := ran(t, troubled(), "go", "on")
		for _, log := range [][]event.Event{log, interleaved()} {
			for _, problem := range clienttest.CheckChanges(log) {
				t.Error(problem)
			}
		}
	})
}

// C17: from any state, the transcript reports the remaining changes.
func TestFromAnyState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, log := ran(t, troubled(), "go", "on")
		for _, log := range [][]event.Event{log, interleaved()} {
			for _, mode := range []transcript.Mode{transcript.Live, transcript.Final} {
				fromAnyState(t, log, mode)
			}
		}
	})
}

func fromAnyState(t *testing.T, log []event.Event, mode transcript.Mode) {
	t.Helper()
	state := event.State{}
	for cursor := range log {
		tr, got := transcript.New(state.Clone(), mode), []string{}
		for _, e := range log[cursor:] {
			changes, err := tr.Take(e)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes {
				got = append(got, line(c))
			}
		}
		if diff := cmp.Diff(after(t, log, uint64(cursor), mode), got); diff != "" {
			t.Fatalf("%s from the state at %d (-want +got):\n%s", mode, cursor, diff)
		}
		var err error
		if state, err = event.Fold(state, log[cursor]); err != nil {
			t.Fatal(err)
		}
	}
}

// C17: from any cursor, the transcript reports the remaining changes.
func TestFromAnyCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := ran(t, troubled(), "go", "on")
		for _, mode := range []transcript.Mode{transcript.Live, transcript.Final} {
			for cursor := range uint64(len(log)) {
				if diff := cmp.Diff(after(t, log, cursor, mode), followed(t, s, cursor, uint64(len(log)), mode)); diff != "" {
					t.Fatalf("%s from %d (-want +got):\n%s", mode, cursor, diff)
				}
			}
		}
	})
}

// after returns the changes by the events after the cursor, from a transcript that takes the whole
// log.
func after(t *testing.T, log []event.Event, cursor uint64, mode transcript.Mode) []string {
	t.Helper()
	tr, out := transcript.New(event.State{}, mode), []string{}
	for _, e := range log {
		changes, err := tr.Take(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if e.Seq > cursor {
				out = append(out, line(c))
			}
		}
	}
	return out
}

func followed(t *testing.T, s transcript.Source, cursor, last uint64, mode transcript.Mode) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := []string{}
	for c, err := range transcript.Follow(ctx, s, cursor, mode) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line(c))
		if c.State.Seq == last {
			cancel()
		}
	}
	return out
}

// The state at the opening, from which a session is followed, equals the state of the log that is
// read from its beginning.
func TestFromTheOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		again := func() *settle.Session {
			host, err := settle.Open(t.Context(), settle.Config{DataDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = host.Close(context.Background()) })
			s, err := host.Session(
				t.Context(), "S",
				settle.SessionConfig{
					Model:   model.Config{Provider: script.New(script.Text("a"), script.Text("b")), Name: "m"},
					WorkDir: dir,
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := again()
		turn, err := s.Submit(t.Context(), "first")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		s = again()
		opened := s.State().Seq
		changes := []iter.Seq2[transcript.Change, error]{
			transcript.Follow(
				t.Context(), s, opened-2, transcript.Live,
			), transcript.Follow(t.Context(), s, opened-1, transcript.Live),
		}
		if turn, err = s.Submit(t.Context(), "second"); err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		log := eventsOf(t, s)
		for n, seq := range changes {
			got := []string{}
			for c, err := range seq {
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, line(c)); len(c.State.Turns) < 1 {
					t.Errorf("%s: the turn before is not known", line(c))
				}
				if c.State.Seq == uint64(len(log)) {
					break
				}
			}
			if diff := cmp.Diff(after(t, log, opened-2+uint64(n), transcript.Live), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	})
}

// fakeShell is the tool that runs commands, with another Run.
type fakeShell struct {
	run func(context.Context, tool.Call) (tool.Result, error)
}

func (fakeShell) Spec() tool.Spec { return shell.NewJobs(shell.Config{}).Tools()[0].Spec() }

func (f fakeShell) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	return f.run(ctx, call)
}

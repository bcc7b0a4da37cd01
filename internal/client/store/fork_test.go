package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/journal"
)

// written returns an open log with the events.
func written(t *testing.T, dir, session string, events ...event.Event) *journal.Log {
	t.Helper()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	log, _, err := journal.Open(t.Context(), journal.Options{Dir: dir, Session: session, Clock: func() time.Time {
		at = at.Add(time.Second)
		return at
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Update(func(event.State) []event.Event { return events }); err != nil {
		t.Fatal(err)
	}
	return log
}

func read(t *testing.T, dir, session string) (out []event.Event) {
	t.Helper()
	for e, err := range journal.Read(t.Context(), dir, session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func asking(delta string) []event.Event {
	in := func(data event.Data) event.Event {
		return event.Event{Turn: "t1", Attempt: "a1", Item: "i1", Data: data}
	}
	return []event.Event{
		{By: "host", Data: event.SessionOpened{Settle: "x", Dir: "/w"}},
		{By: "user", Data: event.InputAccepted{Input: "n1", Text: "hi"}},
		{Turn: "t1", Data: event.TurnStarted{Inputs: []string{"n1"}}},
		{Turn: "t1", Attempt: "a1", Data: event.AttemptStarted{Step: 1, N: 1}},
		in(event.ItemStarted{Type: event.Message}),
		in(event.ItemDelta{Stream: event.Text, Text: delta}),
	}
}

func TestForkCopiesWhatHasEnded(t *testing.T) {
	dir := t.TempDir()
	answered := append(asking("Hello."),
		event.Event{
			Turn: "t1", Attempt: "a1", Item: "i1",
			Data: event.ItemEnded{
				Status:  event.ItemCompleted,
				Content: event.Content{Type: event.Message, Text: "Hello."},
			},
		},
		event.Event{Turn: "t1", Attempt: "a1", Data: event.AttemptEnded{Outcome: event.Completed}},
		event.Event{Turn: "t1", Data: event.TurnCompleted{Summary: event.Summary{Steps: 1, Attempts: 1}}},
		event.Event{By: "host", Data: event.SessionClosed{}},
	)
	if err := written(t, dir, "one", answered...).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := Fork(t.Context(), dir, "one", "two"); err != nil {
		t.Fatal(err)
	}
	var want []event.Event
	for _, e := range read(t, dir, "one") {
		if e.Kind() == event.KindItemDelta {
			continue
		}
		e.Session, e.Seq = "two", uint64(len(want)+1)
		want = append(want, e)
	}
	if diff := cmp.Diff(want, read(t, dir, "two")); diff != "" {
		t.Errorf("(-one +two):\n%s", diff)
	}
	if err := Fork(t.Context(), dir, "one", "two"); err == nil {
		t.Error("a session was copied over another")
	}
	if err := Fork(t.Context(), dir, "none", "three"); err == nil {
		t.Error("a session that is not there was copied")
	}
}

// Open entities of the original are ended in the copy, and nowhere else.
func TestForkOfASessionInUse(t *testing.T) {
	dir := t.TempDir()
	log := written(t, dir, "one", asking("Hel")...)
	if err := Fork(t.Context(), dir, "one", "two"); err != nil {
		t.Fatal(err)
	}
	state, err := journal.Load(dir, "two")
	if err != nil {
		t.Fatal(err)
	}
	turn := state.Turns[0]
	if state.Open || turn.Cause == nil || turn.Cause.By != "fork" || turn.Items[0].Content().Text != "Hel" {
		t.Errorf("the copy: open %t, turn %+v", state.Open, turn)
	}
	if err := contract.Check(read(t, dir, "two")); err != nil {
		t.Errorf("the copy breaks the contract: %v", err)
	}
	if state, err = journal.Load(dir, "one"); err != nil || state.Running() == nil {
		t.Errorf("the original does not run: %v", err)
	}
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A copy of the state before a turn has neither the turn's input nor other inputs that waited then.
func TestForkBeforeATurn(t *testing.T) {
	dir := t.TempDir()
	events := append(asking("Hello."),
		event.Event{By: "user", Data: event.InputAccepted{Input: "n2", Text: "and then"}},
		event.Event{By: "user", Data: event.InputAccepted{Input: "n3", Text: "and last"}},
		event.Event{
			Turn: "t1", Attempt: "a1", Item: "i1",
			Data: event.ItemEnded{
				Status:  event.ItemCompleted,
				Content: event.Content{Type: event.Message, Text: "Hello."},
			},
		},
		event.Event{Turn: "t1", Attempt: "a1", Data: event.AttemptEnded{Outcome: event.Completed}},
		event.Event{Turn: "t1", Data: event.TurnCompleted{Summary: event.Summary{Steps: 1, Attempts: 1}}},
		event.Event{Turn: "t2", Data: event.TurnStarted{Inputs: []string{"n2"}}},
	)
	log := written(t, dir, "one", events...)
	if err := ForkBefore(t.Context(), dir, "one", "two", "t2"); err != nil {
		t.Fatal(err)
	}
	state, err := journal.Load(dir, "two")
	if err != nil || state.Open || len(state.Turns) != 1 || len(state.Waiting) > 0 {
		t.Errorf("the copy has %d turns, %d inputs wait: %v", len(state.Turns), len(state.Waiting), err)
	}
	if err := contract.Check(read(t, dir, "two")); err != nil {
		t.Errorf("the copy breaks the contract: %v", err)
	}
	if err := ForkBefore(t.Context(), dir, "one", "three", "t1"); err != nil {
		t.Fatal(err)
	}
	if state, err = journal.Load(dir, "three"); err != nil || len(state.Turns) != 0 || len(state.Waiting) > 0 {
		t.Errorf("the copy has %d turns: %v", len(state.Turns), err)
	}
	if err := ForkBefore(t.Context(), dir, "one", "four", "t9"); err == nil {
		t.Error("a session was copied before a turn that it does not have")
	}
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

package history_test

import (
	"fmt"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/internal/test/longlog"
	"github.com/settle-agent/settle/model"
)

// BenchmarkLongRequest is the building of a request in a session with a history:
// the next one, with a step's events, and the first after the session was opened.
// The budget of the next one is 1 ms more than in a new session.
func BenchmarkLongRequest(b *testing.B) {
	for _, events := range []int{1_000, 200_000} {
		for _, window := range []int{0, 200_000} {
			target := history.Target{
				Provider: longlog.Provider,
				Model:    longlog.Model,
				Traits:   model.Traits{Window: window},
			}
			b.Run(fmt.Sprintf("events=%d/window=%d/next", events, window), func(b *testing.B) {
				s := longState(b, events)
				var c history.Conversation
				built := c.Request(history.LogOf(s), target, "system", nil)
				b.ReportAllocs()
				start := longlog.CPU()
				for b.Loop() {
					s = step(b, s, built)
					built = c.Request(history.LogOf(s), target, "system", nil)
				}
				b.ReportMetric(float64((longlog.CPU()-start).Microseconds())/float64(b.N), "cpu-µs/op")
			})
			b.Run(fmt.Sprintf("events=%d/window=%d/first", events, window), func(b *testing.B) {
				s := longState(b, events)
				b.ReportAllocs()
				for b.Loop() {
					history.Request(s, target, "system", nil)
				}
			})
		}
	}
}

// step is the attempt that the request is for; the model says something.
func step(b *testing.B, s event.State, built history.BuiltRequest) event.State {
	b.Helper()
	turn, attempt, item := s.Running().ID, s.NextAttempt(), s.NextItem(0)
	events := []event.Event{
		{Data: event.AttemptStarted{Provider: longlog.Provider, Model: longlog.Model}},
		{Item: item, Data: event.ItemStarted{Type: event.Message}},
		{
			Item: item,
			Data: event.ItemEnded{
				Status:  event.ItemCompleted,
				Content: event.Content{Type: event.Message, Text: "some words"},
			},
		},
		{Data: event.AttemptEnded{Outcome: event.Completed}},
	}
	for _, c := range built.Changes {
		events = append([]event.Event{{Data: c}}, events...)
	}
	for _, e := range events {
		e.Session, e.Seq, e.Turn = "s", s.Seq+1, turn
		if e.Kind() != event.KindHistoryChanged {
			e.Attempt = attempt
		}
		var err error
		if s, err = event.Fold(s, e); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// longState is the state of a session in which a turn has begun.
func longState(b *testing.B, events int) event.State {
	b.Helper()
	s := event.State{Session: "s"}
	fold := func(e event.Event) {
		var err error
		if s, err = event.Fold(s, e); err != nil {
			b.Fatal(err)
		}
	}
	for e := range longlog.Events("s", events, longlog.Few) {
		fold(e)
	}
	for _, e := range []event.Event{
		{Data: event.SessionOpened{}},
		{Data: event.InputAccepted{Input: "in", Text: "go"}},
		{Turn: s.NextTurn(), Data: event.TurnStarted{Inputs: []string{"in"}}},
	} {
		e.Session, e.Seq = "s", s.Seq+1
		fold(e)
	}
	return s
}

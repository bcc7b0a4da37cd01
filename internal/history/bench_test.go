package history_test

import (
	"fmt"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/internal/longlog"
	"github.com/settle-agent/settle/model"
)

// BenchmarkLongRequest is the building of the next request in a session with a
// history; the budget is 1 ms more than in a new one.
func BenchmarkLongRequest(b *testing.B) {
	for _, events := range []int{1_000, 200_000} {
		for _, window := range []int{0, 200_000} {
			b.Run(fmt.Sprintf("events=%d/window=%d", events, window), func(b *testing.B) {
				s := longState(b, events)
				target := history.Target{Provider: longlog.Provider, Model: longlog.Model, Traits: model.Traits{Window: window}}
				b.ReportAllocs()
				for b.Loop() {
					history.Request(s, target, "system", nil)
				}
			})
		}
	}
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

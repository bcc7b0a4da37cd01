package turn_test

import (
	"context"
	"iter"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool"
)

// flood is a model that answers with one text in n deltas.
type flood int

func (n flood) Stream(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if !yield(model.Chunk{Kind: model.ItemStart, Role: model.Assistant}, nil) {
			return
		}
		for range n {
			if !yield(model.Chunk{Kind: model.Delta, Text: "some words "}, nil) {
				return
			}
		}
		if yield(model.Chunk{Kind: model.ItemEnd}, nil) {
			yield(model.Chunk{Kind: model.End, Stop: model.StopEndTurn}, nil)
		}
	}
}

// BenchmarkDelta is the path of one text delta from the provider's chunk into
// the log, in a turn of 50,000.
func BenchmarkDelta(b *testing.B) {
	const deltas = 50_000
	stores := map[string]func(b *testing.B) *journal.Log{
		"memory": func(*testing.B) *journal.Log { return journal.NewMemory("s") },
		"file": func(b *testing.B) *journal.Log {
			log, _, err := journal.Open(b.Context(), journal.Options{Dir: b.TempDir(), Session: "s"})
			if err != nil {
				b.Fatal(err)
			}
			return log
		},
	}
	for name, open := range stores {
		b.Run(name, func(b *testing.B) {
			set, err := tool.NewSet()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				log := open(b)
				floodTurn(b, log, set, deltas)
				if err := log.Close(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/deltas, "ns/delta")
		})
	}
}

func floodTurn(b *testing.B, log *journal.Log, set *tool.Set, deltas int) {
	b.Helper()
	err := log.Update(func(s event.State) []event.Event {
		return []event.Event{
			{Data: event.SessionOpened{}},
			{Data: event.InputAccepted{Input: "in", Text: "go"}},
			{Turn: s.NextTurn(), Data: event.TurnStarted{Inputs: []string{"in"}}},
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	cause, err := turn.Run(
		b.Context(),
		&turn.Config{
			Requests:  turn.Requests{Model: model.Config{Provider: flood(deltas), Name: "m"}},
			Execution: turn.Execution{Tools: set},
			Log:       log,
		},
		"t000001",
	)
	if err != nil || cause.Outcome != event.Completed {
		b.Fatal(cause, err)
	}
}

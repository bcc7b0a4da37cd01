package event

import (
	"strings"
	"testing"
)

// BenchmarkDelta measures a streamed piece of text in this package: one fold and one line of JSON.
func BenchmarkDelta(b *testing.B) {
	s := newSession(b).attempt()
	s.item(item1, Message)
	e := next(s.state, inItem(item1, ItemDelta{Stream: Text, Text: "a few words, "}))
	state := s.state
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		e.Seq = state.Seq + 1
		var err error
		if state, err = Fold(state, e); err != nil {
			b.Fatal(err)
		}
		if buf, err = e.AppendJSON(buf[:0]); err != nil {
			b.Fatal(err)
		}
		if i := state.Running().Item(item1); len(i.text) > 1<<20 {
			i.text = i.text[:0] // the length of a long answer, not of the benchmark
		}
	}
}

// BenchmarkFold50000 folds a flood: 50,000 deltas of one item.
func BenchmarkFold50000(b *testing.B) {
	base := newSession(b).attempt()
	base.item(item1, Message)
	events := make([]Event, 50_000)
	for n := range events {
		events[n] = next(
			State{Seq: base.state.Seq + uint64(n)},
			inItem(item1, ItemDelta{Stream: Text, Text: "a few words, "}),
		)
	}
	b.ReportAllocs()
	for b.Loop() {
		state := base.state.Clone()
		for _, e := range events {
			var err error
			if state, err = Fold(state, e); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkEncodeItemEnded(b *testing.B) {
	content := Content{
		Type:      ToolCall,
		Name:      "shell",
		Arguments: `{"command":"ls"}`,
		Output:    strings.Repeat("a line of output\n", 100),
	}
	e := next(State{}, inItem(item1, ItemEnded{Status: ItemCompleted, Content: content}))
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = e.AppendJSON(buf[:0]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshalDelta(b *testing.B) {
	line, err := next(State{}, inItem(item1, ItemDelta{Stream: Text, Text: "a few words, "})).AppendJSON(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var e Event
		if err := e.UnmarshalJSON(line); err != nil {
			b.Fatal(err)
		}
	}
}

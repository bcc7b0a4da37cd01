package journal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
)

// BenchmarkDelta is the way of one delta of a slow stream: update, written,
// seen by a subscriber.
func BenchmarkDelta(b *testing.B) {
	for name, l := range map[string]*Log{"memory": NewMemory("s1"), "file": fileLog(b)} {
		b.Run(name, func(b *testing.B) {
			seen := make(chan uint64, 1)
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			begin(b, l)
			events := l.Events(ctx, l.Seq())
			go func() { // ends with ctx
				for e := range events {
					select {
					case seen <- e.Seq:
					case <-ctx.Done():
					}
				}
			}()
			f := one(delta("some more words "))
			b.ReportAllocs()
			for b.Loop() {
				if err := l.Update(f); err != nil {
					b.Fatal(err)
				}
				<-seen
			}
			b.StopTimer()
			if err := l.Update(endings(event.Abort(event.Interrupted, "user"))); err != nil {
				b.Fatal(err)
			}
		})
		closeLog(b, l)
	}
}

// BenchmarkFlood is the way of deltas that come as fast as they can.
func BenchmarkFlood(b *testing.B) {
	l := fileLog(b)
	begin(b, l)
	f := one(delta("some more words "))
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Update(f); err != nil {
			b.Fatal(err)
		}
	}
	closeLog(b, l)
	b.ReportMetric(float64(b.N)/float64(l.Seq()), "deltas/event")
}

// BenchmarkDurable is an event that must be on stable storage.
func BenchmarkDurable(b *testing.B) {
	l := fileLog(b)
	update(b, l, opened())
	n := 0
	for b.Loop() {
		n++
		update(b, l, event.Event{Data: event.InputAccepted{Input: fmt.Sprint("n", n), Text: "go"}})
	}
	closeLog(b, l)
}

func fileLog(b *testing.B) *Log {
	b.Helper()
	l, _, err := Open(b.Context(), Options{Dir: b.TempDir(), Session: "s1"})
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// large is a session of at least size bytes, of whole turns: streamed answers
// in short deltas, and calls with long outputs in long ones.
func large(b *testing.B, size int) []byte {
	b.Helper()
	raw := header(formatVersion)
	var state event.State
	add := func(e event.Event) {
		e.V, e.Session, e.Seq = event.Version, "s1", state.Seq+1
		var err error
		if state, err = event.Fold(state, e); err != nil {
			b.Fatal(err)
		}
		if raw, err = appendRecord(raw, e); err != nil {
			b.Fatal(err)
		}
	}
	add(opened())
	output := strings.Repeat("a line of output of some length\n", 64)
	for len(raw) < size {
		turn, attempt := state.NextTurn(), state.NextAttempt()
		input := state.NextInput()
		add(event.Event{Data: event.InputAccepted{Input: input, Text: "go"}})
		add(event.Event{Turn: turn, Data: event.TurnStarted{Inputs: []string{input}}})
		add(event.Event{Turn: turn, Attempt: attempt, Data: event.AttemptStarted{Step: 1, N: 1}})
		item := event.Event{Turn: turn, Attempt: attempt, Item: state.NextItem(0)}
		say := func(data event.Data) { item.Data = data; add(item) }
		say(event.ItemStarted{Type: event.Message})
		for range 500 {
			say(event.ItemDelta{Stream: event.Text, Text: "some more words "})
		}
		say(event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{
			Type: event.Message, Text: strings.Repeat("some more words ", 500),
		}})
		item.Item = state.NextItem(0)
		say(event.ItemStarted{Type: event.ToolCall, CallID: "c1", Name: "shell"})
		say(event.ItemDelta{Stream: event.Arguments, Text: "{}"})
		say(event.CallReady{Name: "shell", CallID: "c1", Arguments: "{}"})
		say(event.CallStarted{})
		for range 8 {
			say(event.ItemDelta{Stream: event.Output, Text: output})
		}
		say(event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{
			Type: event.ToolCall, CallID: "c1", Name: "shell", Arguments: "{}", Output: strings.Repeat(output, 8),
		}})
		add(event.Event{Turn: turn, Attempt: attempt, Data: event.AttemptEnded{Outcome: event.Completed}})
		add(event.Event{Turn: turn, Data: event.TurnCompleted{}})
	}
	return raw
}

// BenchmarkOpen100MB is the opening of a session of 100 MB; the budget is 1 s.
func BenchmarkOpen100MB(b *testing.B) {
	dir := place(b, large(b, 100<<20))
	b.SetBytes(100 << 20)
	for b.Loop() {
		l, opened, err := Open(b.Context(), Options{Dir: dir, Session: "s1"})
		if err != nil || !opened.Existing || opened.Damage != "" {
			b.Fatal(opened, err)
		}
		closeLog(b, l)
	}
}

// BenchmarkIdle measures an open session in which nothing happens; the budget
// for all of a session is 32 KiB.
func BenchmarkIdle(b *testing.B) {
	const n = 1000
	dir := b.TempDir()
	for b.Loop() {
		before := inUse()
		logs := make([]*Log, n)
		for i := range logs {
			l, _, err := Open(b.Context(), Options{Dir: dir, Session: fmt.Sprint("s", i), Wrap: withoutSync})
			if err != nil {
				b.Fatal(err)
			}
			if l.Seq() == 0 {
				begin(b, l)
				for range 100 {
					update(b, l, delta("some more words "))
				}
				if err := l.Update(endings(event.Abort(event.Interrupted, "user"))); err != nil {
					b.Fatal(err)
				}
			}
			logs[i] = l
		}
		b.ReportMetric(float64(inUse()-before)/n, "B/session")
		for i, l := range logs {
			closeLog(b, l)
			if err := os.Remove(filepath.Join(sessionsDir(dir), fmt.Sprint("s", i, ".log"))); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// inUse is the memory in use, stacks included.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

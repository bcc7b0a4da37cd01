package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/test/longlog"
)

// longEvents is the session of the budgets: it has 136 MB.
const longEvents = 200_000

// long is a session to compare.
type long struct {
	events int
	steps  longlog.Steps
}

func (l long) String() string { return fmt.Sprintf("events=%d/steps=%d", l.events, l.steps) }

func longs() []long {
	return []long{{1_000, longlog.Few}, {longEvents, longlog.Few}, {longEvents, longlog.Many}}
}

// BenchmarkLongOpen is the opening of a session that was closed, warm; the
// budget is 0.3 s for the long one.
func BenchmarkLongOpen(b *testing.B) {
	for _, n := range longs() {
		b.Run(n.String(), func(b *testing.B) {
			dir, size := longDir(b, n)
			b.SetBytes(size)
			before := inUse()
			var cpu time.Duration
			for b.Loop() {
				start := longlog.CPU()
				l := reopen(b, dir)
				cpu += longlog.CPU() - start
				b.StopTimer()
				b.ReportMetric(float64(inUse())-float64(before), "B/session")
				closeLog(b, l)
				b.StartTimer()
			}
			b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// BenchmarkLongAppend measures updates of a session with a long history: of one event, and of
// several.
func BenchmarkLongAppend(b *testing.B) {
	for _, n := range longs() {
		dir, _ := longDir(b, n)
		l := reopen(b, dir)
		update(b, l, event.Event{Data: event.SessionOpened{}})
		item := beginNext(b, l)
		for _, events := range []int{1, 2} {
			b.Run(fmt.Sprintf("%v/batch=%d", n, events), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					batch := make([]event.Event, events)
					for k := range batch {
						batch[k] = item
					}
					if err := l.Update(func(event.State) []event.Event { return batch }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		if err := l.Update(endings(event.Abort(event.Interrupted, "user"))); err != nil {
			b.Fatal(err)
		}
		closeLog(b, l)
	}
}

// longDir is a data directory with a session of so many events, which was
// opened and closed since.
func longDir(b *testing.B, of long) (dir string, size int64) {
	b.Helper()
	dir = b.TempDir()
	path := filepath.Join(sessionsDir(dir), "s1"+logSuffix)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.Fatal(err)
	}
	raw := header(formatVersion)
	for e := range longlog.Events("s1", of.events, of.steps) {
		var err error
		if raw, err = appendRecord(raw, e); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		b.Fatal(err)
	}
	closeLog(b, reopen(b, dir))
	return dir, int64(len(raw))
}

func reopen(tb testing.TB, dir string) *Log {
	tb.Helper()
	l, opened, err := Open(tb.Context(), Options{Dir: dir, Session: "s1"})
	if err != nil || !opened.Existing || opened.Damage != "" {
		tb.Fatal(opened, err)
	}
	return l
}

// beginNext begins a turn and an item of it, and returns a delta for that.
func beginNext(tb testing.TB, l *Log) (e event.Event) {
	tb.Helper()
	err := l.Update(func(s event.State) []event.Event {
		e = event.Event{Turn: s.NextTurn(), Attempt: s.NextAttempt(), Item: s.NextItem(0)}
		turn, attempt, item := event.Event{Turn: e.Turn}, event.Event{Turn: e.Turn, Attempt: e.Attempt}, e
		input := s.NextInput()
		turn.Data = event.TurnStarted{Inputs: []string{input}}
		attempt.Data = event.AttemptStarted{Step: 1, N: 1}
		item.Data = event.ItemStarted{Type: event.Message}
		e.Data = event.ItemDelta{Stream: event.Text, Text: "some more words "}
		return []event.Event{{Data: event.InputAccepted{Input: input, Text: "go"}}, turn, attempt, item}
	})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

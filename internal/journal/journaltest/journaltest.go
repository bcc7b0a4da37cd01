// Package journaltest has the tests that every store of a session's log must pass: [Run] runs
// them over logs that open creates.
package journaltest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/test/longlog"
)

// Open opens the log of a session, also again after it was closed.
type Open func(t *testing.T, session string) *journal.Log

// Run runs the tests.
func Run(t *testing.T, open Open) {
	t.Run("KeepsEveryEvent", func(t *testing.T) { keepsEveryEvent(t, open) })
	t.Run("ReadersHaveNoGap", func(t *testing.T) { readersHaveNoGap(t, open) })
	t.Run("OpensAtEveryEvent", func(t *testing.T) { opensAtEveryEvent(t, open) })
	t.Run("SessionsAreApart", func(t *testing.T) { sessionsAreApart(t, open) })
}

// write appends the events of a long log.
func write(l *journal.Log, events int) error {
	for batch := range longlog.Updates(events, longlog.Few) {
		if err := l.Update(func(event.State) []event.Event { return slices.Clone(batch) }); err != nil {
			return err
		}
	}
	return nil
}

// stored returns the events of a log up to its end.
func stored(t *testing.T, l *journal.Log) []event.Event {
	t.Helper()
	events, err := collect(l.Events(t.Context(), 0), l.Seq())
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// collect reads up to the event with the number last.
func collect(events iter.Seq2[event.Event, error], last uint64) (out []event.Event, err error) {
	if last == 0 {
		return nil, nil
	}
	for e, err := range events {
		if err != nil {
			return out, err
		}
		if out = append(out, e); e.Seq == last {
			return out, nil
		}
	}
	return out, fmt.Errorf("it ends after %d events, before event %d", len(out), last)
}

func closeLog(t *testing.T, l *journal.Log) {
	t.Helper()
	if err := l.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// keepsEveryEvent checks that a reopened log returns the written events from every cursor, and
// their state.
func keepsEveryEvent(t *testing.T, open Open) {
	l := open(t, "kept")
	if err := write(l, 600); err != nil {
		t.Fatal(err)
	}
	want := stored(t, l)
	var state event.State
	l.View(func(s event.State) { state = s.Clone() })
	closeLog(t, l)
	l = open(t, "kept")
	defer closeLog(t, l)
	if d := cmp.Diff(want, stored(t, l)); d != "" {
		t.Errorf("what is there when it is opened again (-want +got):\n%s", d)
	}
	l.View(func(s event.State) {
		if !reflect.DeepEqual(state.Turns, s.Turns) || s.Seq != state.Seq {
			t.Errorf("the state is another when it is opened again")
		}
	})
	for cursor := 0; cursor < len(want); cursor += 37 {
		got, err := collect(l.Events(t.Context(), uint64(cursor)), l.Seq())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want[cursor:], got); d != "" {
			t.Fatalf("after event %d (-want +got):\n%s", cursor, d)
		}
	}
}

// readersHaveNoGap checks that concurrent readers receive every event once, in order (C17).
func readersHaveNoGap(t *testing.T, open Open) {
	const readers = 4
	l := open(t, "read")
	defer closeLog(t, l)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := make([][]event.Event, readers)
	errs := make([]error, readers)
	var wg sync.WaitGroup
	for n := range readers {
		wg.Go(func() {
			for e, err := range l.Events(ctx, uint64(n*50)) {
				if err != nil {
					errs[n] = err
					return
				}
				seen[n] = append(seen[n], e)
				if _, ok := e.Data.(event.SessionClosed); ok {
					return
				}
			}
		})
	}
	if err := write(l, 2_000); err != nil {
		t.Fatal(err) // the readers end with the test's context
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	want := stored(t, l)
	for n := range readers {
		if d := cmp.Diff(want[n*50:], seen[n]); d != "" {
			t.Errorf("reader %d (-want +got):\n%s", n, d)
		}
	}
}

// opensAtEveryEvent checks that a log opens after any event, and continues.
func opensAtEveryEvent(t *testing.T, open Open) {
	var events []event.Event
	for batch := range longlog.Updates(30, longlog.Few) {
		events = append(events, batch...)
	}
	var want []event.Event
	for n, e := range events {
		l := open(t, "at")
		if d := cmp.Diff(want, stored(t, l)); d != "" {
			t.Fatalf("opened after event %d (-want +got):\n%s", n, d)
		}
		if err := l.Update(func(event.State) []event.Event { return []event.Event{e} }); err != nil {
			t.Fatalf("event %d: %v", n+1, err)
		}
		want = stored(t, l)
		closeLog(t, l)
	}
}

// sessionsAreApart checks that sessions written at the same time have only their own events.
func sessionsAreApart(t *testing.T, open Open) {
	const sessions = 8
	logs := make([]*journal.Log, sessions)
	errs := make([]error, sessions)
	var wg sync.WaitGroup
	for n := range sessions {
		logs[n] = open(t, fmt.Sprintf("apart%d", n))
		wg.Go(func() { errs[n] = write(logs[n], 300) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	for n, l := range logs {
		for i, e := range stored(t, l) {
			if e.Session != fmt.Sprintf("apart%d", n) || e.Seq != uint64(i+1) {
				t.Fatalf("event %d of session apart%d is event %d of %s", i+1, n, e.Seq, e.Session)
			}
		}
		closeLog(t, l)
	}
}

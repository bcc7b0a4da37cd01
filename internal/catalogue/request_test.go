package catalogue

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
)

// writeRequests writes the log of a session with one request at each time, of n tokens.
func writeRequests(t testing.TB, dir, id string, opened event.SessionOpened, n int64, times ...time.Time) {
	t.Helper()
	at := times[0]
	clock := func() time.Time { return at }
	l, _, err := journal.Open(t.Context(), journal.Options{Dir: dir, Session: id, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	cost := 0.5
	events := []event.Event{
		{Data: opened},
		{Data: event.InputAccepted{Input: "n1", Text: "hi"}},
		{Turn: "t1", Data: event.TurnStarted{Inputs: []string{"n1"}, Provider: "script", Model: "demo"}},
	}
	if opened.Imported { // then another host opens it and works
		events = append(events,
			event.Event{Turn: "t1", Attempt: "a0", Data: event.AttemptStarted{Step: 1, N: 1}},
			event.Event{
				Turn: "t1", Attempt: "a0",
				Data: event.AttemptEnded{Outcome: event.Completed, Usage: event.Usage{Input: 1e6}},
			},
			event.Event{Turn: "t1", Data: event.TurnCompleted{Summary: event.Summary{Usage: event.Usage{Input: 1e6}}}},
			event.Event{Data: event.SessionClosed{}},
			event.Event{Data: event.SessionOpened{Dir: opened.Dir}},
			event.Event{Data: event.InputAccepted{Input: "n2", Text: "go"}},
			event.Event{Turn: "t2", Data: event.TurnStarted{Inputs: []string{"n2"}}},
		)
	}
	turn := events[len(events)-1].Turn
	add := func(events []event.Event) {
		t.Helper()
		if err := l.Update(func(event.State) []event.Event { return events }); err != nil {
			t.Fatal(err)
		}
	}
	add(events)
	for i, when := range times {
		at = when
		attempt := fmt.Sprint("a", i+1)
		end := event.AttemptEnded{Outcome: event.Completed, Usage: event.Usage{Input: n, CacheRead: n / 2, Output: 1}}
		if i == 0 {
			end.Cost = &cost
		}
		start := event.AttemptStarted{Step: i + 1, N: 1, Provider: "script", Model: "demo"}
		add([]event.Event{
			{Turn: turn, Attempt: attempt, Data: start}, {Turn: turn, Attempt: attempt, Data: end},
		})
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// requestLines describes the requests, one a line.
func requestLines(t testing.TB, c *Catalogue, since time.Time) (out []string, damaged int) {
	t.Helper()
	all, damaged, err := c.Requests(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		cost := "?"
		if r.Cost != nil {
			cost = fmt.Sprint(*r.Cost)
		}
		out = append(out, fmt.Sprintf(
			"%s %s %s %s %d/%d/%d %s", r.Session, r.Dir, r.Started.Format("15:04"), r.Model, r.Usage.Input,
			r.Usage.CacheRead, r.Usage.Output, cost,
		))
	}
	return out, damaged
}

func TestRequests(t *testing.T) {
	dir := t.TempDir()
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	at := func(hour int) time.Time { return day.Add(time.Duration(hour) * time.Hour) }
	writeRequests(t, dir, "parent", event.SessionOpened{Dir: "/work"}, 100, at(1), at(2))
	writeRequests(t, dir, "copy", event.SessionOpened{Dir: "/work"}, 100, at(1), at(2), at(3))
	writeRequests(t, dir, "child", event.SessionOpened{Dir: "/tree", Parent: "parent"}, 7, at(4))
	writeRequests(t, dir, "loop", event.SessionOpened{Dir: "/loop", Parent: "loop"}, 8, at(5))
	writeRequests(t, dir, "imported", event.SessionOpened{Dir: "/in", Imported: true}, 9, at(6))
	want := []string{
		"copy /work 01:00 script/demo 100/50/1 0.5",
		"copy /work 02:00 script/demo 100/50/1 ?",
		"copy /work 03:00 script/demo 100/50/1 ?",
		"child /work 04:00 script/demo 7/3/1 0.5",
		"loop /loop 05:00 script/demo 8/4/1 0.5",
		"imported /in 06:00 script/demo 9/4/1 0.5",
	}
	c := open(t, dir)
	for _, name := range []string{"read", "stored"} {
		got, damaged := requestLines(t, c, time.Time{})
		diff(t, name, want, got)
		diff(t, name+": damaged", 0, damaged)
	}
	got, _ := requestLines(t, c, at(4))
	diff(t, "since", want[3:], got)

	without := &Catalogue{dir: dir} // as with an unusable database
	got, _ = requestLines(t, without, at(2))
	diff(t, "without a database", want[1:], got)

	// The original is deleted: its copy has all the requests.
	if err := journal.Delete(t.Context(), dir, "copy"); err != nil {
		t.Fatal(err)
	}
	got, _ = requestLines(t, c, time.Time{})
	diff(t, "deleted", []string{
		"parent /work 01:00 script/demo 100/50/1 0.5", "parent /work 02:00 script/demo 100/50/1 ?",
	}, got[:2])
	diff(t, "deleted: rest", want[3:], got[2:])
}

// A request is not read from its log again, and a damaged log is reported.
func TestRequestsOfUnchangedAndDamagedLogs(t *testing.T) {
	dir := t.TempDir()
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	writeRequests(t, dir, "s1", event.SessionOpened{Dir: "/work"}, 100, day)
	c := open(t, dir)
	want, _ := requestLines(t, c, time.Time{})
	log := filepath.Join(dir, "sessions", "s1.log")
	info, err := os.Stat(log)
	if err != nil {
		t.Fatal(err)
	}
	scribble := strings.Repeat("scribble", int(info.Size()))[:info.Size()]
	if err := os.WriteFile(log, []byte(scribble), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(log, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	got, damaged := requestLines(t, c, time.Time{})
	diff(t, "the log looks unchanged", want, got)
	diff(t, "damaged", 0, damaged)
	if err := os.Chtimes(log, day, day); err != nil {
		t.Fatal(err)
	}
	got, damaged = requestLines(t, c, time.Time{})
	diff(t, "the log changed", []string(nil), got)
	diff(t, "damaged", 1, damaged)
}

// A review of a call is a request, too: settle paid for it.
func TestRequestsIncludeReviews(t *testing.T) {
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	cost := 0.25
	of := func(id, command string, usage *event.Usage) *event.Hook {
		return &event.Hook{
			HookStarted: event.HookStarted{Hook: id, Event: event.HookReview, Command: command},
			Ended:       &event.HookEnded{Hook: id, Usage: usage, Cost: &cost},
		}
	}
	state := event.State{Turns: []*event.Turn{{
		ID: "t1", StartSeq: 1, StartedAt: at, Hooks: []*event.Hook{
			of("h1", "script/judge", &event.Usage{Input: 100, Output: 5}), of("h2", "true", nil),
		},
	}}}
	want := []Request{{
		ID: "h1", Started: at, Model: "script/judge", Usage: event.Usage{Input: 100, Output: 5}, Cost: &cost,
	}}
	diff(t, "reviews", want, requestsOf(state))
}

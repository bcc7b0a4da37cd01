package sessions

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
)

func TestParseGroupings(t *testing.T) {
	got, err := ParseGroupings("model, directory")
	if d := cmp.Diff([]Grouping{ByModel, ByDir}, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	for text, want := range map[string]string{
		"":        "--by is day, model, directory, session",
		"colour":  `cannot sum by "colour"`,
		"tag":     "sessions have no tags",
		"day,day": "twice",
	} {
		if _, err := ParseGroupings(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestParseSince(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"2026-11-01":           time.Date(2026, 11, 1, 0, 0, 0, 0, zone),
		"2026-11-01T10:00:00Z": time.Date(2026, 11, 1, 12, 0, 0, 0, zone),
		"7d":                   time.Date(2026, 11, 21, 12, 0, 0, 0, zone),
		"36h":                  time.Date(2026, 11, 27, 0, 0, 0, 0, zone),
	} {
		if got, err := ParseSince(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "-7d", "0d", "7dx", "-1h", "2026-13-01"} {
		if got, err := ParseSince(text, now); err == nil || !strings.Contains(err.Error(), "cannot read --since") {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
}

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	cost := 1.25
	l, _, err := journal.Open(t.Context(), journal.Options{Dir: dir, Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	events := []event.Event{
		{Data: event.SessionOpened{Dir: "/work"}},
		{Data: event.InputAccepted{Input: "n1", Text: "go"}},
		{Turn: "t1", Data: event.TurnStarted{Inputs: []string{"n1"}}},
	}
	for n, a := range []struct {
		provider string
		end      event.AttemptEnded
	}{
		{"p", event.AttemptEnded{Cost: &cost, Usage: event.Usage{Input: 1000, CacheRead: 955, Output: 7}}},
		{"p", event.AttemptEnded{Usage: event.Usage{Input: 10}}},
		{"q", event.AttemptEnded{Usage: event.Usage{Input: 10}}},
	} {
		id := fmt.Sprint("a", n+1)
		a.end.Outcome = event.Completed
		start := event.AttemptStarted{Step: n + 1, N: 1, Provider: a.provider, Model: "m"}
		events = append(events,
			event.Event{Turn: "t1", Attempt: id, Data: start}, event.Event{Turn: "t1", Attempt: id, Data: a.end},
		)
	}
	err = l.Update(func(event.State) []event.Event { return events })
	if err := errors.Join(err, l.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	var table, lines bytes.Buffer
	q := UsageQuery{By: []Grouping{ByModel}}
	if notes, err := q.Usage(t.Context(), &table, dir); err != nil || len(notes) > 0 {
		t.Fatal(err, notes)
	}
	if _, err := q.UsageJSON(t.Context(), &lines, dir); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"model  sessions  requests  input  cached  output  reasoning  cost\n",
		"p/m    1         2         1.0k   94%     7       0          $1.25, and 1 request not known\n",
		"q/m    1         1         10     0%      0       0          not known\n",
		"all    1         3         1.0k   93%     7       0          $1.25, and 2 requests not known\n",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("it does not have %q:\n%s", want, table.String())
		}
	}
	want := `{"model":"p/m","sessions":1,"requests":2,` +
		`"usage":{"input_tokens":1010,"cache_read_tokens":955,"output_tokens":7},"cost_usd":1.25,"unpriced":1}` + "\n"
	if !strings.Contains(lines.String(), want) {
		t.Errorf("it does not have %q:\n%s", want, lines.String())
	}
	q.Since = time.Now().Add(time.Hour)
	table.Reset()
	if _, err := q.Usage(t.Context(), &table, dir); err != nil || table.Len() > 0 {
		t.Errorf("of the future: %v, %q", err, table.String())
	}
}

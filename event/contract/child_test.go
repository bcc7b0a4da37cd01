package contract_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
)

// tells returns a note about the end of a child.
func tells(id, child string) []event.Event {
	return []event.Event{
		{Turn: "t1", Item: id, Data: event.ItemStarted{Type: event.Note}},
		{
			Turn: "t1",
			Item: id,
			Data: event.ItemEnded{
				Status:  event.ItemCompleted,
				Content: event.Content{Type: event.Note, Text: "news", Child: child},
			},
		},
	}
}

// C18: the end of a background child is reported once, after it has happened, in a request, and
// before a turn completes.
func TestChildResultIsReportedOnce(t *testing.T) {
	started := session(event.ChildStarted{Child: "c1", Session: "s2"})
	end := session(event.ChildEnded{Child: "c1", Outcome: event.Completed, Answer: "done"})
	again := []event.Event{
		attempt("a2", event.AttemptStarted{Step: 2, N: 1}),
		attempt("a2", event.AttemptEnded{Outcome: event.Completed, Usage: event.Usage{Input: 10, Output: 2}}),
	}
	first := []event.Event{a1(), ended(event.Completed)}
	done := func(attempts int) event.Event {
		n := int64(attempts)
		return turn(
			"t1",
			event.TurnCompleted{
				Summary: event.Summary{
					Steps:    attempts,
					Attempts: attempts,
					Usage:    event.Usage{Input: 10 * n, Output: 2 * n},
				},
			},
		)
	}
	one := []event.Event{started, end}
	for name, tt := range map[string]struct {
		events [][]event.Event
		broken string
	}{
		"told":                {[][]event.Event{first, one, tells("i1", "c1"), again, {done(2)}}, ""},
		"it runs on":          {[][]event.Event{{started}, first, {done(1), end}}, ""},
		"ended after that":    {[][]event.Event{{started}, first, {done(1)}, {end}}, ""},
		"told first":          {[][]event.Event{one, tells("i1", "c1"), first, {done(1)}}, ""},
		"not told":            {[][]event.Event{one, first, {done(1)}}, "is unreported to its model"},
		"told twice":          {[][]event.Event{one, tells("i1", "c1"), tells("i2", "c1"), first, {done(1)}}, "a second time"},
		"told while it runs":  {[][]event.Event{{started}, tells("i1", "c1"), first, {done(1), end}}, "which is running"},
		"told of nobody":      {[][]event.Event{tells("i1", "c9"), first, {done(1)}}, "which it cannot"},
		"told in no request":  {[][]event.Event{first, one, tells("i1", "c1"), {done(1)}}, "no request reported the end"},
		"ended twice":         {[][]event.Event{one, {end}, tells("i1", "c1"), first, {done(1)}}, "is not running"},
		"session closed over": {[][]event.Event{{started}, first, {done(1)}}, "child c1 is running"},
	} {
		t.Run(name, func(t *testing.T) {
			log := slices.Concat(begin(), slices.Concat(tt.events...), story{closed()})
			err := contract.Check(log.log())
			switch {
			case tt.broken == "" && err != nil:
				t.Error(err)
			case tt.broken != "" && (err == nil || !strings.Contains(err.Error(), tt.broken)):
				t.Errorf("got %v, want %q", err, tt.broken)
			}
		})
	}
}

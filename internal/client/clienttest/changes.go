package clienttest

import (
	"fmt"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// CheckChanges compares a transcript with its log, in each mode and from a cursor on. It
// returns the differences, by the clause of the contract.
func CheckChanges(log []event.Event) (problems []string) {
	for _, mode := range []transcript.Mode{transcript.Live, transcript.Final, transcript.Complete} {
		t := reading{mode: mode, items: map[string]*itemRecord{}}
		all := t.tell(transcript.New(event.State{}, mode), log)
		t.check()
		t.cursor(log, all)
		problems = append(problems, t.problems...)
	}
	return problems
}

// reading is the transcript of a log in one mode.
type reading struct {
	mode     transcript.Mode
	items    map[string]*itemRecord
	state    event.State
	problems []string
}

// itemRecord is the changes of one item, in order.
type itemRecord struct {
	item *event.Item
	what []transcript.What // without that it grew
	text string
}

func (t *reading) broke(clause, format string, a ...any) {
	t.problems = append(t.problems, fmt.Sprintf("%s: a transcript (%s): ", clause, t.mode)+fmt.Sprintf(format, a...))
}

// tell takes the log, and returns the changes of each event in short.
func (t *reading) tell(tr *transcript.Transcript, log []event.Event) (all [][]string) {
	for _, e := range log {
		changes, err := tr.Take(e)
		if err != nil {
			t.broke("C17", "%v", err)
			break
		}
		var lines []string
		for _, c := range changes {
			lines = append(lines, brief(c))
			if c.Thing == transcript.Item {
				t.item(c)
			}
		}
		if len(lines) == 0 && t.mode == transcript.Live {
			t.broke("C17", "event %d (%s) changes nothing", e.Seq, e.Kind())
		}
		all = append(all, lines)
	}
	t.state = tr.State().Clone()
	return all
}

func brief(c transcript.Change) string {
	out := fmt.Sprint(c.Thing, " ", c.What, " ", c.Event.Kind(), " ", c.Text)
	if c.Item != nil {
		out += " " + c.Item.ID
	}
	return out
}

func (t *reading) item(c transcript.Change) {
	i := t.items[c.Item.ID]
	if i == nil {
		i = &itemRecord{item: c.Item}
		t.items[c.Item.ID] = i
	}
	if c.What != transcript.Grew {
		i.what = append(i.what, c.What)
	} else if c.Stream == event.Text {
		i.text += c.Text
	}
	if c.What == transcript.Ended && i.text != c.Item.Content().Text {
		t.broke("C4", "%s grew to %q, and says %q", c.Item.ID, i.text, c.Item.Content().Text)
	}
}

// check: each item starts and ends once, and is committed or discarded once: before the
// item runs, if it runs. The mode decides which changes of discarded items appear.
func (t *reading) check() {
	for id, i := range t.items {
		first := func(what transcript.What) int { return slices.Index(i.what, what) }
		for n, what := range i.what {
			if first(what) != n && what != transcript.Updated {
				t.broke("C17", "%s: told twice that it is %s: %q", id, what, i.what)
			}
		}
		committed, discarded := first(transcript.Committed), first(transcript.Discarded)
		turn := t.state.Turn(i.item.Turn)
		switch {
		case first(transcript.Started) != 0:
			t.broke("C17", "%s does not begin with its start: %q", id, i.what)
		case turn.Cause == nil: // the log ends before it
		case first(transcript.Ended) < 0:
			t.broke("C2", "%s has no end: %q", id, i.what)
		case (committed < 0) == (discarded < 0):
			t.broke("C13", "%s is not either committed or discarded: %q", id, i.what)
		case first(transcript.Running) >= 0 && committed > first(transcript.Running):
			t.broke("C5", "%s runs before it is committed: %q", id, i.what)
		case discarded >= 0 && t.mode == transcript.Final:
			t.broke("C13", "%s is discarded, and told: %q", id, i.what)
		}
	}
}

// cursor: C17, a transcript that starts from a state yields the rest of the changes.
func (t *reading) cursor(log []event.Event, all [][]string) {
	from := len(all) * (1 + len(all)%3) / 4 // one for each log, and not the same for all
	state := event.State{}
	var err error
	for _, e := range log[:from] {
		if state, err = event.Fold(state, e); err != nil {
			t.broke("C17", "%v", err)
			return
		}
	}
	rest := reading{mode: t.mode, items: map[string]*itemRecord{}}
	for n, got := range rest.tell(transcript.New(state, t.mode), log[from:]) {
		if want := all[from+n]; !slices.Equal(got, want) {
			t.broke("C17", "told from event %d on, event %d is %q, and should be %q", from, from+n+1, got, want)
			return
		}
	}
}

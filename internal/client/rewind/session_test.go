package rewind

import (
	"errors"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/journal"
)

// The last session is the last one with an input, whatever became of the input, or the copy of a
// rewind; without any, it is the last one.
func TestLastSessionSkipsSessionsWithoutInput(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	at := time.Date(2020, 3, 4, 5, 6, 7, 0, time.UTC)
	add := func(session string, events ...event.Event) {
		t.Helper()
		opened := event.Event{Data: event.SessionOpened{Dir: work}}
		log, _, err := journal.Open(t.Context(), journal.Options{Dir: dir, Session: session, Clock: func() time.Time {
			at = at.Add(time.Second)
			return at
		}})
		if err != nil {
			t.Fatal(err)
		}
		err = log.Update(func(event.State) []event.Event { return append([]event.Event{opened}, events...) })
		if err := errors.Join(err, log.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	last := func(want string) {
		t.Helper()
		if got, err := LastSession(t.Context(), dir, work); got != want || (err != nil) != (want == "") {
			t.Errorf("the last session is %q, %v; want %q", got, err, want)
		}
	}
	last("")
	add("one")
	last("one")
	add("two")
	last("two")
	add("waits", event.Event{Data: event.InputAccepted{Input: "n000001", Text: "fix it", Mode: event.Queue}})
	last("waits")
	add("dropped", event.Event{Data: event.InputAccepted{Input: "n000001", Text: "fix it", Mode: event.Queue}},
		event.Event{Data: event.InputDropped{Input: "n000001"}})
	add("three")
	last("waits")
	add("image", event.Event{Data: event.InputAccepted{
		Input: "n000001", Mode: event.Queue, Images: []event.Image{{MediaType: "image/png", Data: []byte("x")}},
	}})
	add("four")
	last("image")
	add("turn", event.Event{Data: event.InputAccepted{Input: "n000001", Text: " ", Mode: event.Queue}},
		event.Event{Turn: "t000001", Data: event.TurnStarted{Inputs: []string{"n000001"}}})
	last("turn")
	// The copy of a rewind counts, until a session with an input is newer.
	if err := store.ForkBefore(t.Context(), dir, "turn", "rewound", "t000001"); err != nil {
		t.Fatal(err)
	}
	last("rewound")
	at = time.Now().Add(time.Minute)
	add("five")
	last("rewound")
	add("later", event.Event{Data: event.InputAccepted{Input: "n000001", Text: "fix it", Mode: event.Queue}})
	last("later")
}

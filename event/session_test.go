package event

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// session folds events as a log would. Its methods are the shorthand of the
// tests: a method adds one event and fails the test if Fold refuses it.
type session struct {
	tb interface {
		Helper()
		Fatalf(format string, args ...any)
	}
	state  State
	events []Event
}

func newSession(tb testing.TB) *session {
	s := &session{tb: tb}
	s.add(Event{By: "host", Data: SessionOpened{Settle: "test", Dir: "/work", PID: 1}})
	return s
}

// next completes the envelope as the log does.
func next(s State, e Event) Event {
	e.V, e.Session, e.Seq = Version, "s1", s.Seq+1
	e.At = sampleTime.Add(time.Duration(e.Seq) * time.Second)
	return e
}

func (s *session) add(events ...Event) {
	s.tb.Helper()
	for _, e := range events {
		e = next(s.state, e)
		after, err := Fold(s.state, e)
		if err != nil {
			s.tb.Fatalf("event %+v: %v\nafter %s", e, err, tail(s.events))
		}
		s.state = after
		s.events = append(s.events, e)
	}
}

func tail(events []Event) string {
	var out string
	for _, e := range events[max(0, len(events)-12):] {
		line, _ := e.AppendJSON(nil)
		out += fmt.Sprintf("\n%s", line)
	}
	return out
}

// The ids of the only turn and attempt, and of the first items, of most tests.
const (
	turn1, attempt1            = "t000001", "a000001"
	item1, item2, item3, item4 = "i000001", "i000002", "i000003", "i000004"
)

func inTurn(d Data) Event    { return Event{Turn: turn1, Data: d} }
func inAttempt(d Data) Event { return Event{Turn: turn1, Attempt: attempt1, Data: d} }
func inItem(item string, d Data) Event {
	return Event{Turn: turn1, Attempt: attempt1, Item: item, Data: d}
}

// turn accepts an input and starts turn1 with it.
func (s *session) turn() *session {
	s.tb.Helper()
	s.add(
		Event{By: "user", Data: InputAccepted{Input: "n000001", Text: "go"}},
		inTurn(TurnStarted{Inputs: []string{"n000001"}}),
	)
	return s
}

// attempt starts turn1 and attempt1.
func (s *session) attempt() *session {
	s.tb.Helper()
	s.turn().add(inAttempt(AttemptStarted{Step: 1, N: 1}))
	return s
}

func (s *session) item(id string, typ ItemType, deltas ...string) {
	s.tb.Helper()
	s.add(inItem(id, ItemStarted{Type: typ}))
	stream := Text
	if typ == ToolCall {
		stream = Arguments
	}
	for _, text := range deltas {
		s.add(inItem(id, ItemDelta{Stream: stream, Text: text}))
	}
}

func (s *session) message(id, text string) {
	s.tb.Helper()
	s.item(id, Message, text)
	s.add(inItem(id, ItemEnded{Status: ItemCompleted, Content: Content{Type: Message, Text: text}}))
}

// ready has a call with its arguments complete.
func (s *session) ready(id string) {
	s.tb.Helper()
	s.item(id, ToolCall, `{"a"`, `:1}`)
	s.add(inItem(id, CallReady{Name: "shell", CallID: "call_" + id, Arguments: `{"a":1}`}))
}

// started has a call that runs and said the output.
func (s *session) started(id string, output ...string) {
	s.tb.Helper()
	s.ready(id)
	s.add(inItem(id, CallStarted{}))
	for _, text := range output {
		s.add(inItem(id, ItemDelta{Stream: Output, Text: text}))
	}
}

func callEnded(status Status) ItemEnded {
	return ItemEnded{
		Status:  status,
		Content: Content{Type: ToolCall, Name: "shell", Arguments: `{"a":1}`, Output: "done"},
	}
}

func aborted(typ ItemType, effects Effects) ItemEnded {
	return ItemEnded{
		Status:  ItemAborted,
		Effects: effects,
		Cause:   Abort(Interrupted, "user"),
		Content: Content{Type: typ},
	}
}

// stateDiff compares all of two states, unexported fields too.
func stateDiff(want, got State) string {
	return cmp.Diff(
		want,
		got,
		cmp.AllowUnexported(State{}, Turn{}, Item{}, Input{}, inputHooks{}, counters{}),
		cmpopts.EquateEmpty(),
	)
}

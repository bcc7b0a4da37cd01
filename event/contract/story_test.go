package contract_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
)

// story makes a log of events; it fills in their envelopes.
type story []event.Event

func (s story) log() []event.Event {
	out := make([]event.Event, len(s))
	for i, e := range s {
		e.V, e.Session, e.Seq = event.Version, "s1", uint64(i+1)
		if e.At.IsZero() {
			e.At = time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
		}
		out[i] = e
	}
	return out
}

// The shorthands of the stories: one session, turns t1 and t2, attempts, items.
func session(d event.Data) event.Event { return event.Event{Data: d} }

func turn(id string, d event.Data) event.Event {
	return event.Event{Turn: id, Data: d}
}

func attempt(id string, d event.Data) event.Event {
	return event.Event{Turn: "t1", Attempt: id, Data: d}
}

func item(id string, d event.Data) event.Event {
	return event.Event{Turn: "t1", Attempt: "a1", Item: id, Data: d}
}

var millis = int64(500)

func opened() event.Event { return session(event.SessionOpened{Settle: "test", Dir: "/"}) }
func closed() event.Event { return session(event.SessionClosed{}) }
func accepted(id string) event.Event {
	return session(event.InputAccepted{Input: id, Text: "do it"})
}

func begin() story {
	return story{opened(), accepted("n1"), turn("t1", event.TurnStarted{Inputs: []string{"n1"}})}
}

func a1() event.Event { return attempt("a1", event.AttemptStarted{Step: 1, N: 1}) }

func ended(o event.Outcome) event.Event {
	d := event.AttemptEnded{Outcome: o, Usage: event.Usage{Input: 10, Output: 2}}
	switch o {
	case event.Failed:
		d.Failure, d.RetryIn = &event.Failure{Name: "x", Message: "reset"}, &millis
	case event.Aborted:
		d.Reason = event.Interrupted
	}
	return attempt("a1", d)
}

// summary is of a turn with one attempt.
func summary(steps, calls int) event.Summary {
	return event.Summary{Steps: steps, Attempts: 1, Calls: calls, Usage: event.Usage{Input: 10, Output: 2}}
}

func completed() event.Event { return turn("t1", event.TurnCompleted{Summary: summary(1, 0)}) }

// finalAnswer is a whole session whose turn says "hi" and completes with an answer.
func finalAnswer(answer string) story {
	return append(
		append(begin(), join([]event.Event{a1()}, says("i1", "hi"), []event.Event{ended(event.Completed)})...),
		turn("t1", event.TurnCompleted{Answer: answer, Summary: summary(1, 0)}),
		closed(),
	)
}

func aborted(reason event.Reason, sum event.Summary) event.Event {
	return turn("t1", event.TurnAborted{Reason: reason, Summary: sum})
}

func says(id, text string) []event.Event {
	return []event.Event{
		item(id, event.ItemStarted{Type: event.Message}),
		item(id, event.ItemDelta{Stream: event.Text, Text: text}),
		item(id, event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Type: event.Message, Text: text}}),
	}
}

func calls(id string) []event.Event {
	return []event.Event{
		item(id, event.ItemStarted{Type: event.ToolCall, Name: "shell"}),
		item(id, event.ItemDelta{Stream: event.Arguments, Text: "{}"}),
		item(id, event.CallReady{Name: "shell", Arguments: "{}"}),
	}
}

func starts(id string) event.Event { return item(id, event.CallStarted{}) }

func callEnds(id string, status event.Status, effects event.Effects) event.Event {
	d := event.ItemEnded{
		Status:  status,
		Effects: effects,
		Content: event.Content{Type: event.ToolCall, Name: "shell", Arguments: "{}"},
	}
	if status == event.ItemAborted {
		d.Cause = event.Abort(event.Interrupted, "user")
	}
	return item(id, d)
}

// oneTurn returns a whole session, with the given events between the turn's start and end.
func oneTurn(sum event.Summary, middle ...event.Event) story {
	s := append(begin(), middle...)
	return append(s, turn("t1", event.TurnCompleted{Summary: sum}), closed())
}

func join(parts ...[]event.Event) []event.Event { return slices.Concat(parts...) }

func one(e event.Event) []event.Event { return []event.Event{e} }

// good is a session with something of everything.
func good() story {
	withCall := func(e event.Event) event.Event {
		e.Turn, e.Item = "t1", "i2"
		return e
	}
	return append(begin(), join(
		one(a1()), says("i1", "Let me look."), calls("i2"),
		[]event.Event{
			item("i2", event.ApprovalRequested{Approval: "p1", Tool: "shell"}),
			{
				Turn:    "t1",
				Attempt: "a1",
				Item:    "i2",
				By:      "user",
				Data:    event.ApprovalEnded{Approval: "p1", Verdict: event.Approved},
			},
			starts("i2"),
		},
		calls("i3"),
		[]event.Event{
			item("i2", event.ItemDelta{Stream: event.Output, Text: "a.txt\n"}),
			callEnds("i3", event.ItemAborted, event.EffectsNone),
			attempt("a1", event.AttemptEnded{
				Outcome: event.Failed, Failure: &event.Failure{Name: "x", Message: "reset"},
				RetryIn: &millis, Usage: event.Usage{Input: 10}, Discarded: []string{"i3"},
			}),
			withCall(session(event.ChildStarted{Child: "c1", Session: "s2"})),
			withCall(session(event.ChildEnded{Child: "c1", Outcome: event.Completed})),
			withCall(session(event.JobStarted{Job: "j1", PID: 7, Command: "server"})),
			item("i2", event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{
				Type: event.ToolCall, Name: "shell", Arguments: "{}", Output: "a.txt\n", Jobs: []string{"j1"},
			}}),
			attempt("a2", event.AttemptStarted{Step: 1, N: 2}),
			attempt("a2", event.AttemptEnded{Outcome: event.Completed, Usage: event.Usage{Input: 12, Output: 3}}),
			turn(
				"t1",
				event.TurnCompleted{
					Summary: event.Summary{Steps: 1, Attempts: 2, Calls: 1, Usage: event.Usage{Input: 22, Output: 3}},
				},
			),
			accepted("n2"),
			accepted("n3"),
			turn("t2", event.TurnStarted{Inputs: []string{"n2"}}),
			{Turn: "t2", By: "user", Data: event.InterruptRequested{Reason: event.Interrupted}},
			session(event.InputHeld{Input: "n3"}),
			turn("t2", event.TurnAborted{Reason: event.Interrupted}),
			session(event.JobEnded{Job: "j1", How: event.JobKilled}),
			closed(), opened(),
			session(event.InputDropped{Input: "n3"}),
			{Data: event.Unknown{Name: "from.tomorrow"}},
			closed(),
		},
	)...)
}

// clauses returns the clauses of the violations.
func clauses(err error) []string {
	var out []string
	for _, v := range contract.Violations(err) {
		out = append(out, v.Clause)
	}
	return out
}

func volatile(e event.Event) event.Event {
	e.Volatile = true
	return e
}

func swap(s []event.Event, i, j int) []event.Event {
	s[i], s[j] = s[j], s[i]
	return s
}

func replace(s []event.Event, i int, e event.Event) []event.Event {
	s[i] = e
	return s
}

func denied() event.Summary {
	s := summary(1, 0)
	s.Denied = 1
	return s
}

// survivor ends call i1, of which a process could not be ended.
func survivor(pid int) event.Event {
	return item("i1", event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{
		Type: event.ToolCall, Arguments: "{}", Survivors: []event.Process{{PID: pid}},
	}})
}

// retried is a turn whose first attempt fails as change says.
func retried(change func(*event.AttemptEnded), second event.AttemptStarted) story {
	d := ended(event.Failed).Data.(event.AttemptEnded)
	change(&d)
	return append(
		begin(),
		a1(),
		attempt("a1", d),
		attempt("a2", second),
		attempt("a2", event.AttemptEnded{Outcome: event.Completed}),
		turn(
			"t1",
			event.TurnCompleted{
				Summary: event.Summary{Steps: 1, Attempts: 2, Usage: event.Usage{Input: 10, Output: 2}},
			},
		),
	)
}

// failures is a turn of n failed attempts.
func failures(n int) story {
	s := begin()
	for i := range n {
		d := ended(event.Failed).Data.(event.AttemptEnded)
		d.Usage = event.Usage{}
		id := fmt.Sprint("a", i+1)
		s = append(s, attempt(id, event.AttemptStarted{Step: 1, N: i + 1}), attempt(id, d))
	}
	return append(
		s,
		turn(
			"t1",
			event.TurnFailed{Failure: &event.Failure{Name: "x", Message: "y"}, Summary: event.Summary{Attempts: n}},
		),
	)
}

package event

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSummary: the turn's terminal event has the numbers of its steps, attempts and calls, its
// usage and its cost.
func TestSummary(t *testing.T) {
	s := newSession(t).attempt()
	s.started(item1)
	s.ready(item2)
	s.add(
		inItem(item2, ApprovalRequested{Approval: "p000001"}),
		inItem(item2, ApprovalEnded{Approval: "p000001", Verdict: Denied}),
		inItem(item2, callEnded(ItemFailed)),
		inAttempt(
			AttemptEnded{
				Outcome: Completed,
				Usage:   Usage{Input: 10, CacheRead: 4, CacheWrite: 2, Output: 5, Reasoning: 1},
				Cost:    new(0.25),
			},
		),
		inItem(item1, callEnded(ItemCompleted)),
		Event{Turn: turn1, Attempt: "a000002", Data: AttemptStarted{Step: 2, N: 1}},
		Event{Turn: turn1, Attempt: "a000002", Data: AttemptEnded{Outcome: Failed, Usage: Usage{Input: 20}}},
		Event{Turn: turn1, Attempt: "a000003", Data: AttemptStarted{Step: 2, N: 2}},
		Event{
			Turn:    turn1,
			Attempt: "a000003",
			Data:    AttemptEnded{Outcome: Completed, Usage: Usage{Input: 20, Output: 6}, Cost: new(0.5)},
		},
	)
	s.add(Endings(s.state, Complete())...)
	want := Summary{
		Steps: 2, Attempts: 3, Calls: 1, Denied: 1,
		Usage: Usage{Input: 50, CacheRead: 4, CacheWrite: 2, Output: 11, Reasoning: 1}, Cost: 0.75, Unpriced: 1,
	}
	if diff := cmp.Diff(want, s.state.Turn(turn1).Summary); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestCallEndsAlone: C18, a call that is cancelled alone takes its own children
// with it, and no other's.
func TestCallEndsAlone(t *testing.T) {
	s := newSession(t).attempt()
	s.started(item1)
	s.started(item2)
	s.add(
		Event{Turn: turn1, Item: item1, Data: ChildStarted{Child: "c1", Session: "s2"}},
		Event{Turn: turn1, Item: item2, Data: ChildStarted{Child: "c2", Session: "s3"}},
		Event{Data: ChildStarted{Child: "c3", Session: "s4"}},
	)
	s.add(CallEndings(s.state, item1, Abort(Interrupted, "user"))...)
	for n, ended := range []bool{true, false, false} {
		if child := s.state.Children[n]; (child.Ended != nil) != ended {
			t.Errorf("child %s: %+v", child.Child, child.Ended)
		}
	}
	if i := s.state.Running().Item(item2); i.Status != ItemOpen {
		t.Errorf("the other call is %s", i.Status)
	}
}

// TestJobsEndHonestly: a job that the host ended was killed; one whose host
// died is lost.
func TestJobsEndHonestly(t *testing.T) {
	for reason, want := range map[Reason]JobEnd{Shutdown: JobKilled, Interrupted: JobKilled, Crashed: JobLost} {
		s := newSession(t)
		s.add(Event{Data: JobStarted{Job: "j000001", PID: 9}})
		s.add(Closings(s.state, Abort(reason, "host"))...)
		if got := s.state.Jobs[0].Ended; got == nil || got.How != want || got.Cause.Reason != reason {
			t.Errorf("%s: got %+v", reason, got)
		}
	}
}

// A turn whose host died took until its last event, and so did all that was open in it. The time until a
// person opened the session again does not count.
func TestCrashedTurnStopsAtItsLastEvent(t *testing.T) {
	s := newSession(t).attempt()
	s.started(item1, "some output")
	s.ready(item2)
	s.add(
		inItem(item2, ApprovalRequested{Approval: "p000001"}),
		Event{Turn: turn1, Item: item1, Data: ChildStarted{Child: "c000001", Session: "s2"}},
	)
	last := s.state.Updated
	for _, e := range Closings(s.state, Abort(Crashed, "host")) {
		e = next(s.state, e)
		e.At = last.Add(time.Hour)
		after, err := Fold(s.state, e)
		if err != nil {
			t.Fatal(err)
		}
		s.state = after
	}
	turn := s.state.Turn(turn1)
	for what, at := range map[string]time.Time{
		"turn": turn.EndedAt, "attempt": turn.Attempts[0].EndedAt, "started call": turn.Item(item1).EndedAt,
		"waiting call": turn.Item(item2).EndedAt, "question": turn.Approval("p000001").EndedAt,
		"child": s.state.Child("c000001").EndedAt,
	} {
		if !at.Equal(last) {
			t.Errorf("the %s ended at %v, and its last event was at %v", what, at, last)
		}
	}
}

// TestCloneAndOriginalGoOn: both go on to be folded, and neither writes into
// the other's text.
func TestCloneAndOriginalGoOn(t *testing.T) {
	s := newSession(t).attempt()
	s.item(item1, Message, "a text with room behind it, ", "which append makes, ")
	s.started(item2, "some output, ", "and more, ")
	fork := &session{tb: t, state: s.state.Clone()}
	for n := range 8 {
		for _, side := range []struct {
			*session
			word string
		}{{s, "here"}, {fork, "fork"}} {
			side.add(
				inItem(item1, ItemDelta{Stream: Text, Text: side.word}),
				inItem(item2, ItemDelta{Stream: Output, Text: side.word}),
			)
		}
		if n == 3 {
			fork = &session{tb: t, state: fork.state.Clone()}
		}
	}
	for word, side := range map[string]*session{"here": s, "fork": fork} {
		var words string
		for range 8 {
			words += word
		}
		turn := side.state.Running()
		if got, want := turn.Item(item1).Content().Text, "a text with room behind it, which append makes, "+words; got != want {
			t.Errorf("%s: the text is %q", word, got)
		}
		if got, want := turn.Item(item2).Content().Output, "some output, and more, "+words; got != want {
			t.Errorf("%s: the output is %q", word, got)
		}
	}
}

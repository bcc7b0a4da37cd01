package event

import (
	"errors"
	"testing"
)

// TestCauseInWords: every frontend describes the end of a turn with these words.
func TestCauseInWords(t *testing.T) {
	for _, c := range []struct {
		cause *Cause
		want  string
	}{
		{Complete(), "completed"},
		{Abort(Interrupted, "user"), "interrupted"},
		{Abort(Replaced, "web"), "replaced by a new input"},
		{Abort(Shutdown, "signal:SIGTERM"), "settle was shut down"},
		{Abort(Shutdown, Taker), "another process took the session over"},
		{Abort(Crashed, "host"), "settle was killed"},
		{Abort(Parent, "t000001"), "the parent was cancelled"},
		{Abort(TimedOut, "turn"), "timed out"},
		{Abort(MachineLost, "executor"), "its machine was lost"},
		{AbortLimit(LimitSteps, ""), "the limit on steps was reached"},
		{AbortLimit(LimitSessionCost, ""), "the session's limit on cost was reached"},
		{AbortLimit(LimitTime, "30 min"), "the limit on time was reached: 30 min"},
		{Fail(nil), "failed"},
		{Fail(&Failure{Message: "no route"}), "failed: no route"},
	} {
		if got := c.cause.Error(); got != c.want {
			t.Errorf("%+v says %q, want %q", c.cause, got, c.want)
		}
	}
}

func TestFailureInACause(t *testing.T) {
	var f *Failure
	if err := error(Fail(&Failure{Message: "overloaded", Status: 529})); !errors.As(err, &f) ||
		f.Error() != "overloaded (status 529)" {
		t.Errorf("got %v", f)
	}
	if err := error(Abort(Interrupted, "user")); errors.As(err, &f) && f == nil {
		t.Error("an abort without failure has a nil one")
	}
	if got := (&Failure{Message: "HTTP 529", Status: 529}).Error(); got != "HTTP 529" {
		t.Errorf("the status is said twice: %q", got)
	}
}

// TestDurable: C4, C5, C19, the events that must be on disk before Update returns.
func TestDurable(t *testing.T) {
	volatile := map[Kind]bool{
		KindInterruptRequested: true, KindTurnStarted: true, KindAttemptStarted: true, KindAttemptEnded: true,
		KindHistoryChanged: true, KindItemStarted: true, KindItemDelta: true, KindCallReady: true, KindApprovalRequested: true,
		KindHookStarted: true, KindHookEnded: true, // the start of the call after them is
	}
	for _, e := range samples() {
		want := !volatile[e.Kind()]
		if d, ok := e.Data.(ItemEnded); ok {
			want = d.Type == ToolCall
		}
		if e.Durable() != want {
			t.Errorf("%s of %+v: durable %v", e.Kind(), e.Data, e.Durable())
		}
	}
}

func TestAnswer(t *testing.T) {
	s := newSession(t).attempt()
	s.message(item1, "first")
	s.started(item2)
	s.item(item3, Message, "cut")
	s.add(AttemptEndings(s.state, Fail(&Failure{Message: "reset"}), AttemptEnded{})...)
	if got := s.state.Running().Answer(); got != "first" {
		t.Errorf("got %q, want the last message that was kept", got)
	}
	s.add(inItem(item2, callEnded(ItemFailed)), Event{Turn: turn1, Attempt: "a000002", Data: AttemptStarted{}})
	if s.state.Turn("t000002") != nil || s.state.Running().Answer() != "first" {
		t.Error("an attempt without a message changed the answer")
	}
}

package contract_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
)

// bad are the stories that break a clause; a good neighbour shows that it is
// the difference that breaks it.
func TestClauses(t *testing.T) {
	plain := func() []event.Event { return join(one(a1()), says("i1", "hi"), one(ended(event.Completed))) }
	call := func(middle ...event.Event) []event.Event {
		return join(one(a1()), calls("i1"), middle, one(ended(event.Completed)))
	}
	asked := item("i1", event.ApprovalRequested{Approval: "p1", Tool: "shell"})
	answered := func(v event.Verdict) event.Event {
		e := item("i1", event.ApprovalEnded{Approval: "p1", Verdict: v})
		e.By = "user"
		return e
	}
	failedAttempt := func(discarded ...string) event.Event {
		e := ended(event.Failed)
		d := e.Data.(event.AttemptEnded)
		d.Discarded = discarded
		e.Data = d
		return e
	}
	failed := func(sum event.Summary) event.Event {
		return turn("t1", event.TurnFailed{Failure: &event.Failure{Name: "x", Message: "reset"}, Summary: sum})
	}
	next := func(inputs ...string) []event.Event {
		return []event.Event{
			turn("t2", event.TurnStarted{Inputs: inputs}),
			turn("t2", event.TurnAborted{Reason: event.Interrupted}),
			closed(),
		}
	}
	inTurn := func(d event.Data) event.Event {
		return event.Event{Turn: "t1", Item: "i1", Data: d}
	}
	tests := []struct {
		clause, name string
		good, bad    story
	}{
		{
			"C1", "two terminal events",
			oneTurn(summary(1, 0), plain()...),
			oneTurn(summary(1, 0), append(plain(), completed())...),
		},
		{
			"C1", "an event after the terminal one",
			append(append(begin(), plain()...), completed()),
			append(append(append(begin(), plain()...), completed()), item("i2", event.ItemStarted{Type: event.Note})),
		},
		{"C1", "no terminal event", append(append(begin(), plain()...), completed()), append(begin(), plain()...)},
		{"C1", "a turn's id again", oneTurn(summary(1, 0), plain()...), append(append(append(begin(), plain()...), completed(), accepted("n2")), turn("t1", event.TurnStarted{Inputs: []string{"n2"}}), turn("t1", event.TurnAborted{Reason: event.Interrupted}))},
		{
			"C2", "an attempt that is open at the end of its turn",
			append(begin(), a1(), ended(event.Aborted), aborted(event.Interrupted, summary(0, 0))),
			append(begin(), a1(), aborted(event.Interrupted, event.Summary{Attempts: 1})),
		},
		{
			"C2", "an item that is open at the end of its turn",
			oneTurn(summary(1, 0), plain()...),
			oneTurn(summary(1, 0), join(plain(), one(event.Event{Turn: "t1", Item: "i2", Data: event.ItemStarted{Type: event.Note}}))...),
		},
		{"C2", "an item that ends twice", oneTurn(summary(1, 0), plain()...), oneTurn(summary(1, 0), slices.Insert(plain(), 4, says("i1", "hi")[2])...)},
		{"C2", "an item that ends without a start", oneTurn(summary(1, 0), plain()...), oneTurn(summary(1, 0), join(one(a1()), says("i1", "hi")[1:], one(ended(event.Completed)))...)},
		{"C2", "an attempt that ends twice", oneTurn(summary(1, 0), plain()...), oneTurn(summary(1, 0), append(plain(), ended(event.Completed))...)},
		{"C2", "an open item when its attempt ends", oneTurn(summary(1, 0), plain()...), oneTurn(summary(1, 0), swap(plain(), 3, 4)...)},
		{
			"C2", "an item that is cut without a cause",
			oneTurn(summary(1, 0), call(callEnds("i1", event.ItemAborted, event.EffectsNone))...),
			oneTurn(summary(1, 0), call(item("i1", event.ItemEnded{Status: event.ItemAborted, Effects: event.EffectsNone, Content: event.Content{Type: event.ToolCall, Arguments: "{}"}}))...),
		},
		{
			"C2", "a job that outlives the session",
			story{opened(), session(event.JobStarted{Job: "j1", PID: 7}), session(event.JobEnded{Job: "j1", How: event.JobExited}), closed()},
			story{opened(), session(event.JobStarted{Job: "j1", PID: 7}), closed()},
		},
		{"C2", "a job that ends twice", story{opened(), session(event.JobStarted{Job: "j1", PID: 7}), session(event.JobEnded{Job: "j1", How: event.JobExited})}, story{opened(), session(event.JobStarted{Job: "j1", PID: 7}), session(event.JobEnded{Job: "j1", How: event.JobExited}), session(event.JobEnded{Job: "j1", How: event.JobExited})}},
		{"C2", "a background child that outlives the session", story{opened(), closed()}, story{opened(), session(event.ChildStarted{Child: "c1", Session: "s2"}), closed()}},
		{"C2", "a turn that outlives the session", oneTurn(summary(1, 0), plain()...), append(append(begin(), plain()...), closed(), completed())},
		{"C2", "a session that opens twice", story{opened(), closed(), opened()}, story{opened(), opened()}},
		{"C2", "something that happens in no session", story{opened(), accepted("n1")}, story{accepted("n1")}},
		{
			"C3", "two turns at once",
			append(append(append(begin(), plain()...), completed(), accepted("n2")), next("n2")...),
			append(append(begin(), accepted("n2"), turn("t2", event.TurnStarted{Inputs: []string{"n2"}})), turn("t2", event.TurnAborted{Reason: event.Interrupted})),
		},
		{
			"C3", "a turn after one that is not durably ended",
			append(append(begin(), plain()...), volatile(completed())),
			append(append(append(begin(), plain()...), volatile(completed()), volatile(accepted("n2"))), volatile(next("n2")[0]), volatile(next("n2")[1])),
		},
		{"C4", "something durable after what is not", oneTurn(summary(1, 0), plain()...), oneTurn(summary(1, 0), slices.Insert(plain(), 1, volatile(item("i9", event.ItemStarted{Type: event.Note})), item("i9", event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Type: event.Note}}))...)},
		{
			"C4", "text that differs from what was shown",
			oneTurn(summary(1, 0), plain()...),
			oneTurn(summary(1, 0), replace(plain(), 3, item("i1", event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Type: event.Message, Text: "h"}}))...),
		},
		{
			"C4", "arguments that differ from what was shown",
			oneTurn(summary(1, 1), call(starts("i1"), callEnds("i1", event.ItemCompleted, ""))...),
			oneTurn(summary(1, 1), replace(call(starts("i1"), callEnds("i1", event.ItemCompleted, "")), 3, item("i1", event.CallReady{Name: "shell", Arguments: "{ }"}))...),
		},
		{"C5", "a call that starts twice", oneTurn(summary(1, 1), call(starts("i1"), callEnds("i1", event.ItemCompleted, ""))...), oneTurn(summary(1, 1), call(starts("i1"), starts("i1"), callEnds("i1", event.ItemCompleted, ""))...)},
		{"C5", "a call that starts before its arguments are complete", oneTurn(summary(1, 1), call(starts("i1"), callEnds("i1", event.ItemCompleted, ""))...), oneTurn(summary(1, 1), swap(call(starts("i1"), callEnds("i1", event.ItemCompleted, "")), 3, 4)...)},
		{
			"C4", "text that was lost, and not only its delta",
			oneTurn(summary(1, 0), slices.Insert(plain(), 1,
				item("i9", event.ItemStarted{Type: event.Note}), item("i9", event.ItemDelta{Stream: event.Text, Text: "ab"}),
				volatile(item("i9", event.ItemDelta{Stream: event.Text})),
				item("i9", event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Type: event.Note, Text: "abcd"}}))...),
			oneTurn(summary(1, 0), slices.Insert(plain(), 1,
				item("i9", event.ItemStarted{Type: event.Note}), item("i9", event.ItemDelta{Stream: event.Text, Text: "ab"}),
				item("i9", event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Type: event.Note, Text: "abcd"}}))...),
		},
		{"C5", "a start that is not durable", oneTurn(summary(1, 1), call(starts("i1"), callEnds("i1", event.ItemCompleted, ""))...), oneTurn(summary(1, 1), call(volatile(starts("i1")), callEnds("i1", event.ItemCompleted, ""))...)},
		{"C5", "no effects of what started", oneTurn(summary(1, 1), call(starts("i1"), callEnds("i1", event.ItemAborted, event.EffectsPartial))...), oneTurn(summary(1, 1), call(starts("i1"), callEnds("i1", event.ItemAborted, event.EffectsNone))...)},
		{"C5", "effects of what never started", oneTurn(summary(1, 0), call(callEnds("i1", event.ItemAborted, event.EffectsNone))...), oneTurn(summary(1, 0), call(callEnds("i1", event.ItemAborted, event.EffectsUnknown))...)},
		{"C5", "an aborted call without effects", oneTurn(summary(1, 0), call(callEnds("i1", event.ItemAborted, event.EffectsNone))...), oneTurn(summary(1, 0), call(callEnds("i1", event.ItemAborted, ""))...)},
		{"C5", "a call that completes without a start", oneTurn(summary(1, 0), call(callEnds("i1", event.ItemFailed, ""))...), oneTurn(summary(1, 0), call(callEnds("i1", event.ItemCompleted, ""))...)},
		{"C5", "output before the start", oneTurn(summary(1, 1), call(starts("i1"), item("i1", event.ItemDelta{Stream: event.Output, Text: "x"}), callEnds("i1", event.ItemCompleted, ""))...), oneTurn(summary(1, 1), call(item("i1", event.ItemDelta{Stream: event.Output, Text: "x"}), starts("i1"), callEnds("i1", event.ItemCompleted, ""))...)},
		{
			"C5", "a call that started and is discarded",
			append(begin(), join(one(a1()), calls("i1"), []event.Event{starts("i1"), callEnds("i1", event.ItemCompleted, ""), failedAttempt(), failed(summary(0, 1))})...),
			append(begin(), join(one(a1()), calls("i1"), []event.Event{starts("i1"), callEnds("i1", event.ItemCompleted, ""), failedAttempt("i1"), failed(summary(0, 1))})...),
		},
		{
			"C7", "a job that was left behind and never listed",
			oneTurn(summary(1, 1), call(starts("i1"), callEnds("i1", event.ItemCompleted, ""))...),
			oneTurn(summary(1, 1), call(starts("i1"), item("i1", event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Type: event.ToolCall, Arguments: "{}", Jobs: []string{"j1"}}}))...),
		},
		{"C7", "a job without a process", story{opened(), session(event.JobStarted{Job: "j1", PID: 7})}, story{opened(), session(event.JobStarted{Job: "j1"})}},
		{"C7", "a survivor without a pid", oneTurn(summary(1, 1), call(starts("i1"), survivor(9))...), oneTurn(summary(1, 1), call(starts("i1"), survivor(0))...)},
		{
			"C10", "an attempt after an interrupt",
			append(begin(), turn("t1", event.InterruptRequested{Reason: event.Interrupted}), aborted(event.Interrupted, event.Summary{})),
			append(begin(), turn("t1", event.InterruptRequested{Reason: event.Interrupted}), a1(), ended(event.Aborted), aborted(event.Interrupted, summary(0, 0))),
		},
		{
			"C10", "an attempt for input that an interrupt covered",
			slices.Insert(append(begin(), aborted(event.Interrupted, event.Summary{})), 1, session(event.InterruptRequested{Reason: event.Interrupted, Input: "n1"})),
			slices.Insert(append(append(begin(), plain()...), completed()), 1, session(event.InterruptRequested{Reason: event.Interrupted, Input: "n1"})),
		},
		{
			"C11", "an attempt after one that was aborted",
			append(begin(), a1(), ended(event.Aborted), aborted(event.Interrupted, summary(0, 0))),
			append(begin(), a1(), ended(event.Aborted), attempt("a2", event.AttemptStarted{Step: 1, N: 2}), attempt("a2", event.AttemptEnded{Outcome: event.Completed}), turn("t1", event.TurnCompleted{Summary: event.Summary{Steps: 1, Attempts: 2, Usage: event.Usage{Input: 10, Output: 2}}})),
		},
		{
			"C13", "a retry that was not announced",
			retried(func(d *event.AttemptEnded) {}, event.AttemptStarted{Step: 1, N: 2}),
			retried(func(d *event.AttemptEnded) { d.RetryIn = nil }, event.AttemptStarted{Step: 1, N: 2}),
		},
		{"C13", "a retry that is not counted", retried(func(*event.AttemptEnded) {}, event.AttemptStarted{Step: 1, N: 2}), retried(func(*event.AttemptEnded) {}, event.AttemptStarted{Step: 1, N: 1})},
		{"C13", "a retry that counts as a step", retried(func(*event.AttemptEnded) {}, event.AttemptStarted{Step: 1, N: 2}), retried(func(*event.AttemptEnded) {}, event.AttemptStarted{Step: 2, N: 1})},
		{
			"C13", "text of a failed attempt that is sent twice",
			append(begin(), join(one(a1()), says("i1", "hi"), []event.Event{failedAttempt("i1"), failed(summary(0, 0))})...),
			append(begin(), join(one(a1()), says("i1", "hi"), []event.Event{failedAttempt(), failed(summary(0, 0))})...),
		},
		{
			"C13", "text before a call that started, and lost",
			append(begin(), join(one(a1()), says("i1", "hi"), calls("i2"), []event.Event{starts("i2"), callEnds("i2", event.ItemCompleted, ""), failedAttempt(), failed(summary(0, 1))})...),
			append(begin(), join(one(a1()), says("i1", "hi"), calls("i2"), []event.Event{starts("i2"), callEnds("i2", event.ItemCompleted, ""), failedAttempt("i1"), failed(summary(0, 1))})...),
		},
		{"C13", "too many failures", failures(50), failures(51)},
		{
			"C14", "a turn that completes after a failed attempt",
			append(begin(), a1(), failedAttempt(), failed(summary(0, 0))),
			append(begin(), a1(), failedAttempt(), turn("t1", event.TurnCompleted{Summary: summary(0, 0)})),
		},
		{"C14", "a failure that says nothing", append(begin(), a1(), failedAttempt(), failed(summary(0, 0))), append(begin(), a1(), failedAttempt(), turn("t1", event.TurnFailed{Summary: summary(0, 0)}))},
		{"C14", "an abort without a reason", append(begin(), aborted(event.Shutdown, event.Summary{})), append(begin(), aborted("", event.Summary{}))},
		{"C14", "a limit without its name", append(begin(), turn("t1", event.TurnAborted{Reason: event.LimitReached, Limit: event.LimitSteps})), append(begin(), aborted(event.LimitReached, event.Summary{}))},
		{"C14", "an answer that is not the last message", finalAnswer("hi"), finalAnswer("ho")},
		{"C14", "a summary that is wrong", oneTurn(summary(1, 0), plain()...), oneTurn(summary(2, 0), plain()...)},
		{
			"C16", "an approval that outlives its call",
			oneTurn(denied(), call(asked, answered(event.Denied), callEnds("i1", event.ItemFailed, ""))...),
			oneTurn(summary(1, 0), call(asked, callEnds("i1", event.ItemFailed, ""))...),
		},
		{"C16", "a call that starts though it was denied", oneTurn(summary(1, 1), call(asked, answered(event.Approved), starts("i1"), callEnds("i1", event.ItemCompleted, ""))...), oneTurn(event.Summary{Steps: 1, Attempts: 1, Calls: 1, Denied: 1, Usage: event.Usage{Input: 10, Output: 2}}, call(asked, answered(event.Denied), starts("i1"), callEnds("i1", event.ItemCompleted, ""))...)},
		{"C16", "a call that starts before the answer", oneTurn(summary(1, 1), call(asked, answered(event.Approved), starts("i1"), callEnds("i1", event.ItemCompleted, ""))...), oneTurn(summary(1, 1), call(asked, starts("i1"), answered(event.Approved), callEnds("i1", event.ItemCompleted, ""))...)},
		{"C16", "a second answer", oneTurn(denied(), call(asked, answered(event.Denied), callEnds("i1", event.ItemFailed, ""))...), oneTurn(denied(), call(asked, answered(event.Denied), answered(event.Denied), callEnds("i1", event.ItemFailed, ""))...)},
		{
			"C16", "an answer of nobody",
			oneTurn(denied(), call(asked, item("i1", event.ApprovalEnded{Approval: "p1", Verdict: event.Denied, Policy: "deny"}), callEnds("i1", event.ItemFailed, ""))...),
			oneTurn(denied(), call(asked, item("i1", event.ApprovalEnded{Approval: "p1", Verdict: event.Denied}), callEnds("i1", event.ItemFailed, ""))...),
		},
		{
			"C18", "a child that outlives its call",
			oneTurn(summary(1, 1), call(starts("i1"), inTurn(event.ChildStarted{Child: "c1"}), inTurn(event.ChildEnded{Child: "c1", Outcome: event.Completed}), callEnds("i1", event.ItemCompleted, ""))...),
			oneTurn(summary(1, 1), call(starts("i1"), inTurn(event.ChildStarted{Child: "c1"}), callEnds("i1", event.ItemCompleted, ""))...),
		},
		{"C18", "a child that ends twice", story{opened(), session(event.ChildStarted{Child: "c1"}), session(event.ChildEnded{Child: "c1", Outcome: event.Completed})}, story{opened(), session(event.ChildStarted{Child: "c1"}), session(event.ChildEnded{Child: "c1", Outcome: event.Completed}), session(event.ChildEnded{Child: "c1", Outcome: event.Completed})}},
		{
			"C18", "a turn that goes on by itself after an interrupt",
			append(append(slices.Insert(begin(), 2, accepted("n2")), session(event.InputHeld{Input: "n2"}), aborted(event.Interrupted, event.Summary{}), accepted("n3")), next("n2", "n3")...),
			append(append(slices.Insert(begin(), 2, accepted("n2")), session(event.InputHeld{Input: "n2"}), aborted(event.Interrupted, event.Summary{})), next("n2")...),
		},
		{
			"C18", "an input from before the interrupt of a turn that took a while to end",
			append(append(begin(), turn("t1", event.InterruptRequested{Reason: event.Interrupted}), accepted("n2"), aborted(event.Interrupted, event.Summary{})), next("n2")...),
			append(append(slices.Insert(begin(), 2, accepted("n2")), turn("t1", event.InterruptRequested{Reason: event.Interrupted}), aborted(event.Interrupted, event.Summary{})), next("n2")...),
		},
		{
			"C18", "a replacement that was interrupted before it began",
			append(append(begin(), accepted("n2"), turn("t1", event.InterruptRequested{Reason: event.Replaced}), aborted(event.Replaced, event.Summary{})), next("n2")...),
			append(append(begin(), accepted("n2"), turn("t1", event.InterruptRequested{Reason: event.Replaced}), turn("t1", event.InterruptRequested{Reason: event.Interrupted}), aborted(event.Replaced, event.Summary{})), next("n2")...),
		},
		{
			"C18", "a replaced turn's input, which needs no new one",
			append(append(slices.Insert(begin(), 2, accepted("n2")), aborted(event.Replaced, event.Summary{})), next("n2")...),
			append(append(slices.Insert(begin(), 2, accepted("n2")), aborted(event.Shutdown, event.Summary{})), next("n2")...),
		},
		{"C19", "input that is lost when the session closes", story{opened(), accepted("n1"), session(event.InputHeld{Input: "n1"}), closed()}, story{opened(), accepted("n1"), closed()}},
		{"C19", "input that runs twice", append(append(begin(), aborted(event.Shutdown, event.Summary{}), accepted("n2")), next("n2")...), append(append(begin(), aborted(event.Shutdown, event.Summary{}), accepted("n2")), next("n2", "n1")...)},
		{"C19", "input that was never accepted", append(begin(), aborted(event.Shutdown, event.Summary{})), append(story{opened(), turn("t1", event.TurnStarted{Inputs: []string{"n1"}})}, aborted(event.Shutdown, event.Summary{}))},
		{"C19", "input that is accepted twice", story{opened(), accepted("n1")}, story{opened(), accepted("n1"), accepted("n1")}},
		{"C19", "input that is dropped twice", story{opened(), accepted("n1"), session(event.InputDropped{Input: "n1"})}, story{opened(), accepted("n1"), session(event.InputDropped{Input: "n1"}), session(event.InputDropped{Input: "n1"})}},
		{
			"C20", "a crash that nobody recovered from",
			append(begin(), aborted(event.Crashed, event.Summary{}), session(event.SessionRecovered{}), opened()),
			append(begin(), aborted(event.Crashed, event.Summary{}), closed(), opened()),
		},
		{"C20", "a tail that was cut and not kept", story{opened(), session(event.SessionRecovered{CutBytes: 3, Kept: "tail"})}, story{opened(), session(event.SessionRecovered{CutBytes: 3})}},
	}
	for _, test := range tests {
		t.Run(test.clause+" "+test.name, func(t *testing.T) {
			if err := contract.Check(test.good.log()); err != nil {
				t.Errorf("the good story: %v", err)
			}
			found := clauses(contract.Check(test.bad.log()))
			if !slices.Contains(found, test.clause) {
				t.Errorf("the bad story breaks %v, want %s", found, test.clause)
			}
		})
	}
}

func TestGoodSession(t *testing.T) {
	if err := contract.Check(good().log()); err != nil {
		t.Error(err)
	}
	checker := contract.Checker{InterruptBound: 2 * time.Second, Secrets: []string{"hunter2-hunter2-hunter2"}, Unfinished: true}
	if err := checker.Check(good().log()); err != nil {
		t.Error(err)
	}
}

// A log that is still being written breaks nothing, wherever it is read.
func TestEveryPrefixOfAGoodSession(t *testing.T) {
	log := good().log()
	for n := range log {
		if err := (contract.Checker{Unfinished: true}).Check(log[:n]); err != nil {
			t.Errorf("after %d events: %v", n, err)
		}
	}
}

// Leaving out any event but a delta or something that stands alone is noticed.
func TestEveryMissingEvent(t *testing.T) {
	log := good()
	alone := []event.Kind{
		event.KindItemDelta, event.KindInterruptRequested, event.KindInputHeld, event.KindInputDropped, "from.tomorrow",
	}
	for n, e := range log {
		cutCall := e.Kind() == event.KindCallReady && e.Item == "i3" // it never ran: as well if it was never whole
		if slices.Contains(alone, e.Kind()) || cutCall || n == len(log)-1 {
			continue
		}
		without := slices.Delete(slices.Clone(log), n, n+1)
		if contract.Check(without.log()) == nil {
			t.Errorf("nobody misses event %d, %s", n+1, e.Kind())
		}
	}
}

// A repeated event is a violation, except output of calls, requests of an interrupt, held inputs,
// and events of unknown kinds.
func TestEveryRepeatedEvent(t *testing.T) {
	log := good()
	harmless := []event.Kind{
		event.KindItemDelta, event.KindInterruptRequested, event.KindInputHeld, "from.tomorrow",
	}
	for n, e := range log {
		d, isDelta := e.Data.(event.ItemDelta)
		if slices.Contains(harmless, e.Kind()) && (!isDelta || d.Stream == event.Output) {
			continue
		}
		twice := slices.Insert(slices.Clone(log), n, e)
		if contract.Check(twice.log()) == nil {
			t.Errorf("nobody minds event %d, %s, twice", n+1, e.Kind())
		}
	}
}

func TestNumbersHaveNoGaps(t *testing.T) {
	log := good().log()
	for name, bad := range map[string][]event.Event{
		"gap":             slices.Delete(slices.Clone(log), 5, 6),
		"from the middle": log[3:],
		"another session": func() []event.Event {
			other := slices.Clone(log)
			other[4].Session = "s2"
			return other
		}(),
	} {
		if found := clauses(contract.Check(bad)); !slices.Contains(found, "C17") {
			t.Errorf("%s breaks %v, want C17", name, found)
		}
	}
}

func TestInterruptBound(t *testing.T) {
	log := append(begin(), turn("t1", event.InterruptRequested{Reason: event.Interrupted}), aborted(event.Interrupted, event.Summary{})).log()
	for bound, want := range map[time.Duration][]string{0: nil, time.Second: nil, time.Second - 1: {"C9"}} {
		if diff := cmp.Diff(want, clauses(contract.Checker{InterruptBound: bound}.Check(log))); diff != "" {
			t.Errorf("bound %v: %s", bound, diff)
		}
	}
}

func TestSecrets(t *testing.T) {
	log := oneTurn(summary(1, 0), join(one(a1()), says("i1", `my key is "sk-1234567890abcdef"`), one(ended(event.Completed)))...).log()
	for secret, want := range map[string][]string{
		"sk-other-other-other":  nil,
		"sk-1234567890abcdef":   {"C15", "C15"}, // in the delta and in the whole
		`"sk-1234567890abcdef"`: {"C15", "C15"},
	} {
		if diff := cmp.Diff(want, clauses(contract.Checker{Secrets: []string{secret}}.Check(log))); diff != "" {
			t.Errorf("%s: %s", secret, diff)
		}
	}
}

// An event that cannot be encoded cannot be searched for secrets.
func TestUnreadableEvents(t *testing.T) {
	bad := item("i1", event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Type: event.Message, Text: "hi", Detail: []byte("{")}})
	log := oneTurn(summary(1, 0), join(one(a1()), says("i1", "hi")[:2], []event.Event{bad, ended(event.Completed)})...).log()
	err := contract.Checker{Secrets: []string{"sk-1234567890abcdef"}}.Check(log)
	if diff := cmp.Diff([]string{"C20"}, clauses(err)); diff != "" {
		t.Error(diff)
	}
}

func TestViolationsSayWhere(t *testing.T) {
	err := contract.Check(oneTurn(summary(2, 0), join(one(a1()), one(ended(event.Completed)))...).log())
	found := contract.Violations(err)
	if len(found) != 1 || found[0].Clause != "C14" || found[0].Seq != 6 || found[0].Kind != event.KindTurnCompleted {
		t.Fatalf("violations %v", found)
	}
	if !strings.HasPrefix(err.Error(), "C14: event 6 (turn.completed): its summary is ") {
		t.Errorf("it says %q", err)
	}
	if contract.Violations(nil) != nil {
		t.Error("nothing has violations")
	}
}

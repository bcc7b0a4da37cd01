package contract_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
)

// Each violation has a message of its own.
func TestDetails(t *testing.T) {
	inCall := func(middle ...event.Event) story {
		return oneTurn(summary(1, 1), join(one(a1()), calls("i1"), middle, one(ended(event.Completed)))...)
	}
	itemEnds := func(d event.ItemEnded) story {
		return oneTurn(
			summary(1, 0),
			join(one(a1()), says("i1", "hi")[:2], []event.Event{item("i1", d), ended(event.Completed)})...)
	}
	attemptEnds := func(d event.AttemptEnded, items ...event.Event) story {
		return append(begin(), join(one(a1()), items, one(attempt("a1", d)))...)
	}
	failed := func(discarded ...string) event.AttemptEnded {
		d := ended(event.Failed).Data.(event.AttemptEnded)
		d.Discarded = discarded
		return d
	}
	asked := item("i1", event.ApprovalRequested{Approval: "p1"})
	child := event.Event{Turn: "t1", Item: "i1", Data: event.ChildStarted{Child: "c1"}}
	text := event.Content{Type: event.Message, Text: "hi"}
	late := item("i1", event.InterruptRequested{Reason: event.Interrupted})
	late.Turn, late.Item = "t9", ""
	tests := []struct {
		want  string
		story story
	}{
		{
			`C16: event 9 (approval.requested): item "i1" is not a call that could still start`,
			inCall(starts("i1"), asked),
		},
		{
			`C16: event 8 (approval.requested): call i1 waits for input and has not started`,
			inCall(item("i1", event.ApprovalRequested{Approval: "p1", Form: &event.Form{}})),
		},
		{
			`C16: event 9 (approval.ended): "maybe" is no verdict`,
			inCall(asked, item("i1", event.ApprovalEnded{Approval: "p1", Verdict: "maybe", Policy: "x"})),
		},
		{
			`C16: event 8 (approval.ended): approval p1 was not requested`,
			inCall(item("i1", event.ApprovalEnded{Approval: "p1", Verdict: event.Denied})),
		},
		{`C16: event 9 (approval.requested): "p1" is not a new approval's id`, inCall(asked, asked)},
		{
			`C16: event 9 (item.ended): approval p1 waits, and its call i1 ends`,
			inCall(asked, callEnds("i1", event.ItemFailed, "")),
		},
		{`approval p1 of turn t1 waits`, inCall(asked)},
		{
			`C2: event 5 (attempt.started): attempt a1 is running`,
			append(begin(), a1(), attempt("a2", event.AttemptStarted{Step: 1, N: 1})),
		},
		{
			`C2: event 6 (attempt.started): "a1" is not a new attempt's id`,
			append(begin(), a1(), ended(event.Completed), attempt("a1", event.AttemptStarted{Step: 2, N: 1})),
		},
		{
			`C14: event 5 (attempt.ended): it was aborted and gives no reason`,
			attemptEnds(event.AttemptEnded{Outcome: event.Aborted}),
		},
		{`C2: event 5 (attempt.ended): "fine" is no outcome`, attemptEnds(event.AttemptEnded{Outcome: "fine"})},
		{
			`C13: event 5 (attempt.ended): it announces a retry, and has not failed`,
			attemptEnds(event.AttemptEnded{Outcome: event.Completed, RetryIn: &millis}),
		},
		{
			`C13: event 5 (attempt.ended): item i7 is discarded and does not belong to attempt a1`,
			attemptEnds(failed("i7")),
		},
		{`C5: event 8 (attempt.ended): item i1 is discarded and open`, attemptEnds(failed("i1"), calls("i1")...)},
		{`C19: event 2 (input.held): input n1 does not wait`, story{opened(), session(event.InputHeld{Input: "n1"})}},
		{
			`C14: event 4 (interrupt.requested): it gives no reason`,
			append(begin(), turn("t1", event.InterruptRequested{})),
		},
		{`C2: event 4 (interrupt.requested): turn "t9" is not running`, append(begin(), late)},
		{
			`C2: event 4 (item.started): attempt "a1" is not running`,
			append(begin(), item("i1", event.ItemStarted{Type: event.Message})),
		},
		{
			`C2: event 6 (item.delta): item i1 takes no output now`,
			append(
				begin(),
				a1(),
				item("i1", event.ItemStarted{Type: event.Message}),
				item("i1", event.ItemDelta{Stream: event.Output, Text: "x"}),
			),
		},
		{
			`C2: event 6 (call.started): item i1 is not a call`,
			append(begin(), a1(), item("i1", event.ItemStarted{Type: event.Message}), starts("i1")),
		},
		{
			`C2: event 6 (call.ready): item i1 is not a call that waits for its arguments`,
			append(begin(), a1(), item("i1", event.ItemStarted{Type: event.Message}), item("i1", event.CallReady{})),
		},
		{
			`C2: event 7 (item.ended): item i1 is a message, not a note`,
			itemEnds(
				event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Type: event.Note, Text: "hi"}},
			),
		},
		{
			`C2: event 7 (item.ended): item i1 ends as "open"`,
			itemEnds(event.ItemEnded{Status: event.ItemOpen, Content: text}),
		},
		{
			`C5: event 7 (item.ended): item i1 is not a call and has effects "none"`,
			itemEnds(event.ItemEnded{Status: event.ItemCompleted, Effects: event.EffectsNone, Content: text}),
		},
		{
			`C2: event 7 (item.ended): item i1 was aborted, and the cause is empty`,
			itemEnds(
				event.ItemEnded{Status: event.ItemAborted, Cause: &event.Cause{Outcome: event.Aborted}, Content: text},
			),
		},
		{
			`C2: event 7 (item.ended): item i1 was aborted with the cause completed`,
			itemEnds(event.ItemEnded{Status: event.ItemAborted, Cause: event.Complete(), Content: text}),
		},
		{
			`C4: event 8 (item.ended): the arguments of call i1 differ from the shown deltas`,
			inCall(
				item(
					"i1",
					event.ItemEnded{
						Status:  event.ItemFailed,
						Content: event.Content{Type: event.ToolCall, Arguments: "{ }"},
					},
				),
			),
		},
		{
			`C18: event 10 (item.ended): child c1 is running, and its call i1 ends`,
			inCall(starts("i1"), child, callEnds("i1", event.ItemCompleted, "")),
		},
		{`C18: event 8 (child.started): call i1, the parent of child c1, is not running`, inCall(child)},
		{
			`child c1 of turn t1 is running`,
			append(
				begin(),
				event.Event{Turn: "t1", Data: event.ChildStarted{Child: "c1"}},
				aborted(event.Shutdown, event.Summary{}),
			),
		},
		{
			`C18: event 3 (child.ended): child c1 ends as ""`,
			story{opened(), session(event.ChildStarted{Child: "c1"}), session(event.ChildEnded{Child: "c1"})},
		},
		{
			`C2: event 3 (child.ended): child c1 was aborted without a cause`,
			story{
				opened(),
				session(event.ChildStarted{Child: "c1"}),
				session(event.ChildEnded{Child: "c1", Outcome: event.Aborted}),
			},
		},
		{
			`C2: event 3 (job.ended): job j1 ends as ""`,
			story{opened(), session(event.JobStarted{Job: "j1", PID: 7}), session(event.JobEnded{Job: "j1"})},
		},
		{`C2: event 4 (session.closed): turn t1 is running`, append(begin(), closed())},
		{
			`C2: event 3 (item.started): turn "t1" is not running`,
			story{opened(), accepted("n1"), item("i1", event.ItemStarted{})},
		},
		{
			`C2: event 4 (item.started): it belongs to no turn`,
			append(begin(), session(event.ItemStarted{Type: event.Note})),
		},
		{
			`C10: event 5 (turn.completed): turn t1 completed, though its input was interrupted before`,
			story{
				opened(),
				accepted("n1"),
				session(event.InterruptRequested{Reason: event.Interrupted, Input: "n1"}),
				turn("t1", event.TurnStarted{Inputs: []string{"n1"}}),
				turn("t1", event.TurnCompleted{}),
			},
		},
	}
	for _, test := range tests {
		if err := contract.Check(test.story.log()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("want %s, got:\n%v", test.want, err)
		}
	}
}

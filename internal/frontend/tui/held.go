package tui

import (
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// heldQuestions are the questions of the calls that waited when an earlier host ended, while no
// turn runs.
type heldQuestions struct {
	log *transcript.Transcript
	seq uint64 // the event after which they were derived from the log
	all []*event.Approval
}

// heldQuestions returns the questions of the held calls. It derives them once for each state.
func (u *UI) heldQuestions() []*event.Approval {
	s, h := u.state(), &u.questions.held
	if s.Running() != nil {
		return nil
	}
	if h.log != u.view.log || h.seq != s.Seq {
		h.log, h.seq, h.all = u.view.log, s.Seq, questionsOf(s.HeldCalls())
	}
	return h.all
}

// askHeldAgain shows the questions again of calls that the turn should have run, if they are still held.
func (u *UI) askHeldAgain(t *event.Turn) {
	for _, in := range t.Inputs {
		if in.HeldCall != nil {
			delete(u.questions.answeredIDs, in.HeldCall.Call)
		}
	}
}

func questionsOf(held []event.HeldCall) (out []*event.Approval) {
	for _, call := range held {
		out = append(out, call.Question())
	}
	return out
}

// heldReplies are the answers to the question of a held call.
func (u *UI) heldReplies(a *event.Approval) []reply {
	verdict := func(v event.Verdict) func(*UI, *event.Approval) {
		return func(u *UI, a *event.Approval) { u.verdict(a, v) }
	}
	later := reply{"", "decide later", func(u *UI, a *event.Approval) {
		u.questions.answeredIDs[a.Approval] = true
		u.showHint("it stays held: \"settle approvals\" lists it")
	}}
	if asker.IsPlan(a.ApprovalRequested) {
		return append(append([]reply{later}, u.acceptReplies()...), refusePlanReplies()...)
	}
	return []reply{ // the first one is selected: an Enter that was meant for a prompt runs nothing
		later,
		{keymap.AllowOnce, "allow it and run it now", verdict(event.Approved)},
		{keymap.Deny, event.Denied.Words(), verdict(event.Denied)},
		{keymap.DenyInstead, event.Denied.Words() + ", and say what to do instead", (*UI).typeInstead},
	}
}

package tui

import (
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
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
	if s.Running() != nil || u.view.closing {
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

// heldReplies are the answers to the question of a held call. The last one is selected at first: an Enter
// that was meant for a prompt runs nothing.
func (u *UI) heldReplies(a *event.Approval) (all []reply) {
	question := a.ApprovalRequested
	question.Once = true // a held call is approved by itself
	for _, one := range u.repliesOf(a, asker.Choices(question, false)) {
		switch {
		case one.action == keymap.DenyExplain: // no turn runs
			continue
		case one.action == keymap.AllowOnce && !asker.IsPlan(question):
			one.words = "allow it and run it now"
		}
		all = append(all, one)
	}
	return append(all, reply{"", laterWords, func(u *UI, a *event.Approval) {
		u.questions.answeredIDs[a.Approval] = true
		u.commitFinished() // the next question
		u.showHint("it stays held: \"settle approvals\" lists it")
	}, asker.NumberStop})
}

// approvedBy is a part of a call's row: who approved the call, if it was held.
func approvedBy(t *event.Turn, i *event.Item) string {
	in := t.InputOf(i)
	switch {
	case in == nil || in.HeldCall == nil:
		return ""
	case in.By == user:
		return "  (approved by you)"
	}
	return "  (approved by " + terminal.OneLine(in.By) + ")"
}

const laterWords = "decide later"

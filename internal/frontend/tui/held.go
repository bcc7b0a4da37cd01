package tui

import (
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// heldQuestions are the questions of the calls that waited when an earlier host ended, while no
// turn runs. Each has the id of its held call.
func heldQuestions(s event.State) (out []*event.Approval) {
	if s.Running() != nil {
		return nil
	}
	for _, h := range s.HeldCalls() {
		a := *h.Approval
		a.Approval, a.Ended = h.ID, nil
		out = append(out, &a)
	}
	return out
}

// isHeld reports whether the question is that of a held call: the id of an approval is short.
func isHeld(a *event.Approval) bool { return len(a.Approval) == heldIDLength }

// heldIDLength is the length of the id of a held call, a hash in hexadecimal.
const heldIDLength = 64

// heldReplies are the answers to the question of a held call.
func (u *UI) heldReplies() []reply {
	verdict := func(v event.Verdict) func(*UI, *event.Approval) {
		return func(u *UI, a *event.Approval) { u.verdict(a, v) }
	}
	return []reply{ // the first one is selected: an Enter that was meant for a prompt runs nothing
		{"", "decide later", func(u *UI, a *event.Approval) {
			u.questions.answeredIDs[a.Approval] = true
			u.showHint("it stays held: \"settle approvals\" lists it")
		}},
		{keymap.AllowOnce, "allow it and run it now", verdict(event.Approved)},
		{keymap.Deny, event.Denied.Words(), verdict(event.Denied)},
		{keymap.DenyInstead, event.Denied.Words() + ", and say what to do instead", (*UI).typeInstead},
	}
}

package oneturn

import (
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
)

// HeldWords are advice on how a person answers held calls.
const HeldWords = "answer it with: settle approvals"

// unrun returns why the call that the run approved did not begin; empty if it did, and for other runs.
func (r *runner) unrun(session *settle.Session) string {
	if r.HeldCall == nil || r.HeldCall.Verdict != event.Approved {
		return ""
	}
	h, _ := session.State().HeldCall(r.HeldCall.Call)
	if h.Run != nil && h.Run.Started {
		return ""
	}
	return strings.TrimSuffix("the approved call did not run: "+transcript.Unstarted(h.Run), ": ")
}

// nameHeld names the calls that the host's end left held in the turn.
func (r *runner) nameHeld(session *settle.Session, turn string) {
	if r.Resume == nil { // nothing is kept
		return
	}
	for _, h := range session.State().HeldCalls() {
		if h.Turn.ID == turn || r.HeldCall != nil && r.HeldCall.Call == h.ID {
			r.sayHeld(h)
		}
	}
}

// sayHeld reports that a call waits for a person.
func (r *runner) sayHeld(h event.HeldCall) {
	r.say("the call is held: %s; %s", terminal.Short(transcript.HeldTitle(h), maxHeldTitle), HeldWords)
}

// maxHeldTitle is the number of shown characters of a held call.
const maxHeldTitle = 80

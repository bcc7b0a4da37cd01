package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
)

// errHeld ends an attempt whose turn only waits for a person: the turn ends, and its call is held.
var errHeld = errors.New("a call waits for a person")

// holdRequester is the requester of the end of such a turn.
const holdRequester = "worker, since a call waits for a person"

// holder is the Approver of a task's calls: no person can answer while the turn runs. When nothing
// else of the turn runs any more, the turn ends, and the log has the call as a held one:
//
//	approval.requested ─► other calls end ─► turn.aborted (shutdown) ─► held ─► verdict ─► a new turn
type holder struct{ run *run }

// Approve implements [settle.Approver].
func (h holder) Approve(ctx context.Context, call settle.Approval) error {
	switch {
	case call.Child != "": // the agent would be gone before a person answers
		return denial(call, "no person can be asked for a child agent", call.Why)
	case call.Text == "":
		return denial(call, "it is too long to be shown to a person", "")
	}
	h.run.watchHeld(ctx)
	<-ctx.Done()
	return context.Cause(ctx)
}

// denial returns the denial of a call.
func denial(call settle.Approval, policy, why string) error {
	if why != "" {
		why = ": " + why
	}
	return &settle.DeniedError{Policy: policy, Message: fmt.Sprintf(
		"%q was not allowed to run: it needs approval, and %s%s. Continue without it, or state what you would have "+
			"done.",
		call.Tool.Name, policy, why)}
}

// hookDelay is the time without events of a session with hooks after which its turn counts as waiting for a person: a
// hook starts soon after its call has ended or has requested an approval.
const hookDelay = 500 * time.Millisecond

// watchHeld ends the wait for the turn with [errHeld] when the turn only waits for a person. It returns when
// ctx has ended, or the session.
func (r *run) watchHeld(ctx context.Context) {
	s := r.session.Load()
	look := func() (seq uint64, waits bool) {
		s.View(func(state event.State) { seq, waits = state.Seq, waitsForPerson(state) })
		return seq, waits
	}
	check := func() uint64 {
		seq, waits := look()
		switch {
		case waits && !r.hooks:
			r.hold(errHeld)
		case waits:
			time.AfterFunc(hookDelay, func() { // a later event checks again
				if now, isWaiting := look(); isWaiting && now == seq && ctx.Err() == nil {
					r.hold(errHeld)
				}
			})
		}
		return seq
	}
	for _, err := range s.Events(ctx, check()) {
		if err != nil {
			return
		}
		check()
	}
}

// waitsForPerson reports whether all open items of the turn wait for a person. Hooks that run end first, such as a hook
// of a call that has ended, or of the question itself.
func waitsForPerson(state event.State) (waits bool) {
	t := state.Running()
	if t == nil || slices.ContainsFunc(t.Attempts, func(a *event.Attempt) bool { return a.End == nil }) ||
		slices.ContainsFunc(t.Hooks, func(h *event.Hook) bool { return h.Ended == nil }) {
		return false
	}
	for _, i := range t.Items {
		if i.Status != event.ItemOpen {
			continue
		}
		if i.Started || !slices.ContainsFunc(t.Approvals, func(a *event.Approval) bool {
			return a.Call == i.ID && a.Ended == nil && a.Child == "" && a.Form == nil
		}) {
			return false
		}
		waits = true
	}
	return waits
}

// heldCalls returns the calls of the turns that wait for a person. A verdict that did not count,
// since its worker died, is given again.
func heldCalls(state event.State, taskTurns []*event.Turn, verdicts []fleet.Verdict) (out []fleet.HeldCall) {
	for _, h := range state.HeldCalls() {
		hasVerdict := slices.ContainsFunc(verdicts, func(v fleet.Verdict) bool { return v.Call == h.ID })
		if !hasVerdict && slices.Contains(taskTurns, h.Turn) {
			a := h.Approval
			out = append(out, fleet.HeldCall{ID: h.ID, Tool: a.Tool, Title: a.Title, Why: a.Why, At: a.At.UTC()})
		}
	}
	return out
}

// decide submits the verdicts that the log does not have, and reports whether there were any. They
// wait for the input that continues the task, so that one turn runs all calls that were approved.
func (r *run) decide(s *settle.Session) (submitted bool, err error) {
	for n, v := range r.attempt.Verdicts {
		var waits bool
		s.View(func(state event.State) {
			h, isHeld := state.HeldCall(v.Call)
			waits = isHeld && h.Verdict == nil
		})
		if !waits {
			continue
		}
		_, err := s.Submit(
			r.life, "", settle.From(v.By), settle.WithNext(),
			settle.WithID(fmt.Sprintf("%s~%d.%d", r.attempt.Task.Input, r.attempt.Epoch, n+1)),
			settle.AsVerdict(&event.HeldVerdict{Call: v.Call, Verdict: v.Verdict, Message: v.Message}),
		)
		if err != nil {
			return submitted, err
		}
		submitted = true
	}
	return submitted, nil
}

// heldResult returns the result of a task that waits for a person.
func (p progress) heldResult(held []fleet.HeldCall) *fleet.Result {
	r := p.resultOf(&event.Cause{Outcome: event.Completed})
	r.Outcome, r.Held = fleet.OutcomeHeld, held
	r.Message = fmt.Sprintf("%d calls wait for a person; settle-fleet approvals lists them", len(held))
	if len(held) == 1 {
		r.Message = fmt.Sprintf("a call waits for a person: %s; settle-fleet approvals lists it", held[0].Tool)
	}
	return r
}

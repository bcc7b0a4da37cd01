package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/run"
)

// heldInput replaces the text of a verdict until the log has the call that it is about.
const heldInput = "(verdict)"

// heldPrompt is the prompt of a turn that runs a call that was approved before.
const heldPrompt = "The call that I approved runs now. Continue with its result."

// isReleasable reports whether the call was approved and waits for an input that takes it along,
// and no such input waits.
func isReleasable(state event.State, h event.HeldCall) bool {
	return h.Verdict != nil && h.Verdict.Held && h.Verdict.RunsCall() &&
		!slices.ContainsFunc(state.Waiting, func(i event.Input) bool { return !i.Held && !i.Command })
}

// isHeld reports whether a held call has the id.
func (s *Session) isHeld(id string) (is bool) {
	s.log().View(func(state event.State) { _, is = state.HeldCall(id) })
	return is
}

// heldVerdict returns the events of a verdict about a held call. Approved, the call runs in the
// turn of the input. A denial is held for the model until the next input, and so is an approval
// that must wait for it. The first verdict counts: a later one returns an [*approval.AnsweredError].
// But an approval that is held runs the call when it is given again, and can be replaced by a denial.
func (s *Session) heldVerdict(state event.State, id string, in run.Input) ([]event.Event, error) {
	v := *in.HeldCall
	h, known := state.HeldCall(v.Call)
	starts := v.Verdict == event.Approved && !in.Hold
	waits := isReleasable(state, h)
	releases := starts && waits
	withdraws := v.Verdict == event.Denied && waits
	if known {
		if err := checkPermission(h.Approval.Tool, v.Verdict, v.Permission); err != nil {
			return nil, err
		}
	}
	switch {
	case !known:
		return nil, &approval.UnknownError{Approval: v.Call}
	case h.Verdict != nil && !releases && !withdraws:
		return nil, &approval.AnsweredError{Approval: v.Call, Verdict: h.Verdict.HeldCall.Verdict, By: h.Verdict.By}
	case v.Verdict != event.Approved && v.Verdict != event.Denied:
		return nil, &approval.MisfitError{
			Why: fmt.Sprintf("cannot answer a held call with %q: approved and denied are known", v.Verdict),
		}
	case starts && s.lastInput != "":
		return nil, &approval.MisfitError{
			Why: "it ends with the turn that it runs, and starts no other; approve the call again when it has ended",
		}
	case releases && (v.Permission == "" || v.Permission == h.Verdict.HeldCall.Permission):
		return []event.Event{{By: in.By, Data: event.InputAccepted{Input: id, Text: heldPrompt}}}, nil
	}
	v.Turn, v.Item, v.Message = h.Turn.ID, h.Item.ID, s.config.Turn.Redact.String(v.Message)
	what := h.Approval.Title
	if what == "" {
		what = h.Approval.Tool
	}
	text := fmt.Sprintf("I approve the call that waited when settle stopped: %s", what)
	if v.Verdict == event.Denied {
		text = fmt.Sprintf("I do not allow the call that waited when settle stopped: %s", what)
		if v.Message != "" {
			text += "\n" + v.Message
		}
	}
	var out []event.Event
	if h.Verdict != nil { // the new verdict replaces the held verdict
		out = append(out, event.Event{By: in.By, Data: event.InputDropped{Input: h.Verdict.ID}})
	}
	out = append(out, event.Event{By: in.By, Data: event.InputAccepted{Input: id, Text: text, HeldCall: &v}})
	if v.Verdict == event.Denied || in.Hold {
		out = append(out, event.Event{By: in.By, Data: event.InputHeld{Input: id}})
	}
	return out, nil
}

// checkUnattended returns why an approved call would not run where no person can be asked: it would be asked
// about again, or denied. Its verdict is not taken, so that a person can still decide.
func (s *Session) checkUnattended(v *event.HeldVerdict) error {
	u, is := s.config.Turn.Approver.(unattended)
	var h event.HeldCall
	var known bool
	s.log().View(func(state event.State) { h, known = state.HeldCall(v.Call) })
	if !is || !known || v.Verdict != event.Approved || h.Verdict != nil && !h.Verdict.Held {
		return nil
	}
	c, tools := h.Item.Content(), s.config.Turn.Tools
	arguments := json.RawMessage(c.Arguments)
	var why string
	if x, ok := tools.Lookup(c.Name); !ok {
		why = fmt.Sprintf("there is no tool %q here", c.Name)
	} else {
		why = u.refusal(h, approval.Call{
			Turn: h.Turn.ID, Attempt: h.Item.Attempt, Item: h.Item.ID, Tool: x.Spec(),
			Title:     s.config.Turn.Redact.String(tools.Title(c.Name, arguments)),
			Arguments: c.Arguments, Starts: tools.Starts(c.Name, arguments),
		})
	}
	if why == "" {
		return nil
	}
	return &approval.MisfitError{Why: fmt.Sprintf("the held call would not run: %s; it stays held. Approve it where "+
		"a person can be asked, such as on a terminal", s.config.Turn.Redact.String(why))}
}

// refusal returns why the held call would not run without a person; empty if it would.
func (u unattended) refusal(h event.HeldCall, call approval.Call) string {
	j := u.judge.Judge(call)
	call.Places = j.Places
	var dir string
	u.log.View(func(s event.State) { dir = s.Host.Dir })
	switch {
	case j.Decision == event.Deny:
		return j.Why
	case !u.same(h, dir, call, j):
		return "its rule, files, directory or sandbox has changed since the question"
	}
	return ""
}

// changedSince begins the reason of a question that is asked again.
const changedSince = "it is not what was approved before: its rule, files, directory or sandbox have changed; "

// heldAnswer is a person's answer about a held call that runs now.
type heldAnswer struct {
	held bool // the call is a held call that a person approved
	same bool // its question would still be the same
	// permission is as in [event.HeldVerdict].
	permission string
}

// grant returns the grant of an approved held call.
func (b heldAnswer) grant(j approval.Judgement) turn.Grant {
	grant := grantOf(j)
	grant.Permission = b.permission
	return grant
}

// approvedBefore returns the answer of a person, if the call is a held call that they approved.
func (a *Approvals) approvedBefore(call approval.Call, j approval.Judgement) (out heldAnswer) {
	var before event.HeldCall
	var dir string
	a.log.View(func(s event.State) {
		t := s.Running()
		if t == nil || t.ID != call.Turn {
			return
		}
		i := t.Item(call.Item)
		if i == nil {
			return
		}
		in := t.InputOf(i)
		if in == nil || in.HeldCall == nil {
			return
		}
		v := in.HeldCall
		for _, h := range s.EverHeld() {
			if h.Turn.ID == v.Turn && h.Item.ID == v.Item {
				before, out.held, out.permission = h, true, v.Permission
			}
		}
		dir = s.Host.Dir
	})
	out.same = out.held && a.same(before, dir, call, j)
	return out
}

// same reports whether the question about a held call would be the same now, in the directory.
func (a *Approvals) same(before event.HeldCall, dir string, call approval.Call, j approval.Judgement) bool {
	now, err := a.requestOf(call, j)
	was := before.Approval
	confined := !was.Sandbox.On() || was.Sandbox == now.Sandbox
	same := err == nil && before.Turn.Dir == dir && confined && now.Text == was.Text && now.Tool == was.Tool &&
		slices.Equal(now.Places, was.Places)
	if j.Decision == event.Ask {
		same = same && now.Covers == was.Covers && now.Files == was.Files &&
			now.Why == strings.TrimPrefix(was.Why, changedSince)
	}
	return same
}

// compared returns the judgement of a call, and the answer of the person. If a held call differs
// from the approved call, the judgement asks, even if a rule allows the call.
func (a *Approvals) compared(call approval.Call, j approval.Judgement) (approval.Judgement, heldAnswer) {
	before := a.approvedBefore(call, j)
	if before.held && !before.same && j.Decision != event.Deny {
		j.Decision, j.Why = event.Ask, changedSince+j.Why
	}
	return j, before
}

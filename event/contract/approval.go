package contract

import "github.com/settle-agent/settle/event"

// approval is a call's wait for the answer of a person, a client or a policy.
type approval struct {
	call    string
	ended   bool
	granted bool
	form    bool // a call that runs asks for input
	// arguments replace the arguments of the call if the person changed it; else empty.
	arguments string
}

func (l *log) approvalRequested(t *turn, e event.Event, d event.ApprovalRequested) {
	i := t.items[e.Item]
	if i == nil || i.ended || i.started && d.Child == "" && d.Form == nil || i.kind != event.ToolCall {
		l.breaks("C16", "item %q is not a call that could still start", e.Item)
	}
	if i != nil && d.Form != nil && !i.started {
		l.breaks("C16", "call %s waits for input and has not started", e.Item)
	}
	if d.Child != "" {
		if c := l.children[d.Child]; c == nil || c.ended || c.call != e.Item {
			l.breaks("C16", "child %s waits for an approval and does not run in call %s", d.Child, e.Item)
		}
	}
	if d.Approval == "" || t.approvals[d.Approval] != nil {
		l.breaks("C16", "%q is not a new approval's id", d.Approval)
		return
	}
	t.approvals[d.Approval] = &approval{call: e.Item, form: d.Form != nil}
}

// approvalEnded: C16, one answer, from a person or client, or from a named policy.
func (l *log) approvalEnded(t *turn, e event.Event, d event.ApprovalEnded) {
	a := t.approvals[d.Approval]
	if l.answered(a, e, d) && d.Verdict == event.Denied && !a.form {
		t.summary.Denied++
	}
}

// answered notes the end of an approval, and reports whether it could end.
func (l *log) answered(a *approval, e event.Event, d event.ApprovalEnded) bool {
	switch {
	case a == nil:
		l.breaks("C16", "approval %s was not requested", d.Approval)
		return false
	case a.ended:
		l.breaks("C16", "approval %s was answered before", d.Approval)
		return false
	}
	a.ended = true
	switch d.Verdict {
	case event.Approved, event.ApprovedSession:
		a.granted, a.arguments = true, d.Arguments
	case event.Denied, event.ApprovalAborted, event.Expired:
	default:
		l.breaks("C16", "%q is no verdict", d.Verdict)
	}
	if d.Verdict != event.Expired && e.By == "" && d.Policy == "" {
		l.breaks("C16", "approval %s has an answer from no person, client or named policy", d.Approval)
	}
	return true
}

// childAsks: C16, an approval of a background child belongs to the session and ends
// before the child.
func (l *log) childAsks(d event.ApprovalRequested) {
	c := l.children[d.Child]
	switch {
	case c == nil || c.turn != "" || c.ended:
		l.breaks("C16", "child %q waits for an approval and does not run in the background", d.Child)
	case d.Approval == "" || c.approvals[d.Approval] != nil:
		l.breaks("C16", "%q is not a new approval's id", d.Approval)
	default:
		c.approvals[d.Approval] = &approval{}
	}
}

func (l *log) childAnswered(e event.Event, d event.ApprovalEnded) {
	var found *approval
	for _, c := range l.children {
		if a := c.approvals[d.Approval]; a != nil && (found == nil || found.ended) {
			found = a
		}
	}
	l.answered(found, e, d)
}

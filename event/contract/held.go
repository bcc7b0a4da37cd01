package contract

import "github.com/settle-agent/settle/event"

// approves reports whether the input approves a held call.
func (in *input) approves() bool { return in.verdict != nil && in.verdict.Verdict == event.Approved }

// heldAnswered: C16, a verdict about a held call is approved or denied, comes after the end of
// its turn, and about a call that has not started.
func (l *log) heldAnswered(d event.InputAccepted) {
	v := d.HeldCall
	if v == nil {
		return
	}
	i := l.heldItem(v)
	switch {
	case v.Verdict != event.Approved && v.Verdict != event.Denied:
		l.breaks("C16", "%q is no verdict about a held call", v.Verdict)
	case i == nil || !l.turns[v.Turn].ended || i.kind != event.ToolCall:
		l.breaks("C16", "item %q of turn %q is no held call", v.Item, v.Turn)
	case i.started || i.ranLater:
		l.breaks("C16", "call %s of turn %s has a verdict, and started before", v.Item, v.Turn)
	}
}

// heldItem returns the call that the verdict is about, or nil.
func (l *log) heldItem(v *event.HeldVerdict) *item {
	if t := l.turns[v.Turn]; t != nil {
		return t.items[v.Item]
	}
	return nil
}

// heldReady: C19, the call that runs for an approval is exactly the held call.
func (l *log) heldReady(i *item, d event.CallReady) {
	if i.held != nil && i.held.finalArgs != d.Arguments {
		l.breaks("C19", "call %s has other arguments than the held call that was approved", i.id)
	}
}

// heldStarted: C5, a held call starts once, for all the verdicts about it.
func (l *log) heldStarted(i *item) {
	for held := i.held; held != nil; held = held.held {
		if held.started || held.ranLater {
			l.breaks("C5", "call %s runs a held call that ran before", i.id)
		}
		held.ranLater = true
	}
}

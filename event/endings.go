package event

import (
	"cmp"
	"slices"
)

// Endings returns the events that end the running turn and all that is open
// in it, innermost first, each with the cause; nil if no turn is running.
//
// It is the only author of forced endings and of a turn's terminal event: the
// turn's finalizer always calls it, and so does the recovery of a log whose writer
// died. An item keeps its text. A call that never started has no effects; the
// effects of a call that started and did not return are unknown (C5). Waiting input is
// held (C19), unless it came after the last request to interrupt the turn, or there was
// no such request and the turn completed or was replaced. A turn cannot complete with
// an open entity: that is a defect of settle, and the turn fails with its description.
func Endings(s State, c *Cause) []Event {
	t := s.Running()
	if t == nil {
		return nil
	}
	c = honest(s, c)
	return endTurn(s, c, held(s.stopped(c), c))
}

// endTurn ends the running turn; holding are the endings of the waiting inputs.
func endTurn(s State, c *Cause, holding []Event) []Event {
	t := s.Running()
	out := childEndings(s, c, func(child *Child) bool { return child.Turn == t.ID })
	out = append(out, hookEndings(t.Hooks, c, func(*Hook) bool { return true })...)
	for _, i := range t.Items {
		if i.Status == ItemOpen {
			out = append(append(out, t.expired(i, c)...), i.ending(c))
		}
	}
	if attempt := AttemptEndings(s, c, AttemptEnded{}); len(attempt) > 0 {
		out = append(out, attempt[len(attempt)-1]) // its items have ended above
	}
	out = append(out, holding...)
	return append(out, Event{Turn: t.ID, By: c.By, Data: terminal(s, c, t)})
}

// honest returns the cause, or a failure if the turn cannot have completed.
func honest(s State, c *Cause) *Cause {
	t := s.Running()
	if t == nil || c.Outcome != Completed {
		return c
	}
	what := s.openInTurn(t)
	if what == "" {
		return c
	}
	return Fail(&Failure{Name: NameInternal, Message: "the turn cannot complete: " + what})
}

// stopped returns the inputs that are held when the running turn ends.
func (s State) stopped(c *Cause) []Input {
	requested := c.Reason == Interrupted && s.Running().Interrupt != nil
	if c.Outcome != Completed && c.Reason != Replaced && !requested {
		return s.Waiting
	}
	return slices.DeleteFunc(slices.Clone(s.Waiting), func(i Input) bool { return i.Stopped == "" })
}

// Closings returns the events that end all entities of an open session: its turn,
// its children and its jobs. For any cause, waiting input is held. The closing host
// and the recovery of a dead host call it before session.closed or session.recovered.
func Closings(s State, c *Cause) []Event {
	if !s.Open {
		return nil
	}
	c = honest(s, c)
	running := s.Running()
	out := held(s.Waiting, c)
	if running != nil {
		out = endTurn(s, c, out)
	}
	out = append(
		out,
		childEndings(s, c, func(child *Child) bool { return running == nil || child.Turn != running.ID })...)
	out = append(out, hookEndings(s.Hooks, c, func(*Hook) bool { return true })...)
	how := JobKilled
	if c.Reason == Crashed {
		how = JobLost
	}
	for _, j := range s.Jobs {
		if j.Ended == nil {
			out = append(out, Event{By: c.By, Data: JobEnded{Job: j.Job, How: how, Cause: c}})
		}
	}
	return out
}

// AttemptEndings returns the events that end the running attempt before its
// response was complete: its unfinished items, then the attempt, with the data of end
// except the outcome; nil if no attempt is running. An approval of an unfinished call
// expires before the call ends.
//
// A failed attempt is repeated, so the conversation keeps only its irrevocable items, up to the
// last call that started. The started calls continue. Later items and unfinished items are
// discarded. An aborted attempt keeps all its items.
func AttemptEndings(s State, c *Cause, end AttemptEnded) []Event {
	t := s.Running()
	if t == nil || t.Attempt() == nil {
		return nil
	}
	a := t.Attempt()
	var out []Event
	keep := a.lastStarted(t)
	for n, i := range t.Items {
		if i.Attempt != a.ID {
			continue
		}
		unfinished := i.Status == ItemOpen && !i.Ready
		tail := c.Outcome == Failed && n > keep
		if unfinished || tail && i.Status == ItemOpen {
			out = append(append(append(out, t.unhooked(i, c)...), t.expired(i, c)...), i.ending(c))
		}
		if tail || c.Outcome == Failed && unfinished {
			end.Discarded = append(end.Discarded, i.ID)
		}
	}
	end.Outcome, end.Reason, end.Failure = Aborted, c.Reason, c.Failure
	if c.Outcome == Failed {
		end.Outcome = Failed
	}
	return append(out, Event{Turn: t.ID, Attempt: a.ID, By: c.By, Data: end})
}

// CallEndings returns the forced ending of one call that was cancelled alone and did
// not return, preceded by the endings of its approvals and children; nil if the call
// has ended. The turn continues.
func CallEndings(s State, item string, c *Cause) []Event {
	t := s.Running()
	if t == nil {
		return nil
	}
	i := t.Item(item)
	if i == nil || i.Status != ItemOpen {
		return nil
	}
	out := childEndings(s, c, func(child *Child) bool { return child.Turn == t.ID && child.Item == item })
	out = append(out, t.unhooked(i, c)...)
	return append(append(out, t.expired(i, c)...), i.ending(c))
}

// lastStarted returns the index in the turn's items of the attempt's last call that
// started, or -1.
func (a *Attempt) lastStarted(t *Turn) int {
	for n, i := range slices.Backward(t.Items) {
		if i.Attempt == a.ID && i.Started {
			return n
		}
	}
	return -1
}

// ending returns the forced ending of an open item.
func (i *Item) ending(c *Cause) Event {
	d := ItemEnded{Status: ItemAborted, Cause: c, Content: i.Content()}
	switch {
	case i.Type() != ToolCall:
	case i.Started:
		d.Effects = EffectsUnknown
	default:
		d.Effects = EffectsNone
	}
	return Event{Turn: i.Turn, Attempt: i.Attempt, Item: i.ID, By: c.By, Data: d}
}

// unhooked returns the endings of the hooks that run for the call.
func (t *Turn) unhooked(i *Item, c *Cause) []Event {
	return hookEndings(t.Hooks, c, func(h *Hook) bool { return h.Item == i.ID })
}

// expired returns the endings of the approvals that the call waits for (C16).
func (t *Turn) expired(i *Item, c *Cause) []Event {
	var out []Event
	for _, a := range t.Approvals {
		if a.Call == i.ID && a.Ended == nil {
			out = append(out, Event{
				Turn: t.ID, Attempt: i.Attempt, Item: i.ID, By: c.By,
				Data: ApprovalEnded{Approval: a.Approval, Verdict: Expired},
			})
		}
	}
	return out
}

func childEndings(s State, c *Cause, in func(*Child) bool) []Event {
	var out []Event
	for _, child := range s.Children {
		if child.Ended == nil && in(child) {
			for _, a := range child.Approvals {
				if a.Ended == nil {
					out = append(out, Event{By: c.By, Data: ApprovalEnded{Approval: a.Approval, Verdict: Expired}})
				}
			}
			out = append(out, Event{
				Turn: child.Turn, Item: child.Item, By: c.By,
				Data: ChildEnded{Child: child.Child, Outcome: Aborted, Cause: c},
			})
		}
	}
	return out
}

func held(waiting []Input, c *Cause) []Event {
	var out []Event
	for _, i := range waiting {
		if !i.Held {
			out = append(out, Event{By: c.By, Data: InputHeld{Input: i.ID, Reason: cmp.Or(i.Stopped, c.Reason)}})
		}
	}
	return out
}

func terminal(s State, c *Cause, t *Turn) Data {
	sum := t.summary()
	switch c.Outcome {
	case Completed:
		return TurnCompleted{Answer: t.Answer(), Summary: sum}
	case Failed:
		return TurnFailed{Failure: c.Failure, Summary: sum}
	}
	d := TurnAborted{Reason: c.Reason, Limit: c.Limit, Message: c.Message, Summary: sum}
	if c.Reason == Crashed {
		d.StoppedAt = s.Updated
	}
	return d
}

func (t *Turn) summary() Summary {
	sum := Summary{Attempts: len(t.Attempts)}
	for _, a := range t.Attempts {
		if a.End == nil {
			continue
		}
		sum.Add(*a.End)
		if a.End.Outcome == Completed && a.Start.Purpose == "" {
			sum.Steps++
		}
	}
	for _, h := range t.Hooks {
		if h.Ended == nil {
			continue
		}
		if spent, ok := h.Ended.Spent(); ok {
			sum.Add(spent)
		}
	}
	for _, i := range t.Items {
		if i.Started {
			sum.Calls++
		}
	}
	for _, a := range t.Approvals {
		if a.Ended != nil && a.Ended.Verdict == Denied && a.Form == nil {
			sum.Denied++
		}
	}
	return sum
}

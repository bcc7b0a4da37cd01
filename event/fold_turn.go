package event

import (
	"fmt"
	"slices"
	"time"
)

// Ids usually count up, but clients can choose the ids of inputs, and other writers
// need not count. An id that is greater than all earlier ids is new without a search,
// so that the cost of a fold does not depend on the length of the log.

func isNew(id, last string) bool { return len(id) > len(last) || len(id) == len(last) && id > last }

func greater(a, b string) string {
	if isNew(b, a) {
		return b
	}
	return a
}

// turnStarted: C3, a turn starts only after the previous turn has ended.
func (s *State) turnStarted(e *Event, d TurnStarted) string {
	if t := s.running(); t != nil {
		return fmt.Sprintf("turn %q is running", t.ID)
	}
	if e.Turn == "" || !isNew(e.Turn, s.lastTurn) && s.Turn(e.Turn) != nil {
		return fmt.Sprintf("%q is not a new turn's id", e.Turn)
	}
	taken, what := s.takeInputs(d.Inputs)
	if what != "" {
		return what
	}
	s.count.turns++
	s.lastTurn = greater(s.lastTurn, e.Turn)
	s.Turns = append(s.Turns, &Turn{
		ID: e.Turn, Start: d, By: e.By, StartSeq: e.Seq, StartedAt: e.At, Dir: s.Host.Dir, Inputs: taken,
	})
	return ""
}

// turnEnded: C1 and C2, one terminal event, with no open entity.
func (s *State) turnEnded(t *Turn, e *Event, c *Cause, sum Summary) string {
	if what := s.openInTurn(t); what != "" {
		return what
	}
	t.Cause, t.Summary, t.EndedAt = c, sum, e.At
	return ""
}

// stopAt moves the ends of a turn whose host died, and of all that was open in it, back to the time of
// the last event before: recovery found them later.
func (s *State) stopAt(t *Turn, at time.Time) {
	back := func(end *time.Time) {
		if end.After(at) {
			*end = at
		}
	}
	back(&t.EndedAt)
	for _, a := range t.Attempts {
		back(&a.EndedAt)
	}
	for _, i := range t.Items {
		back(&i.EndedAt)
	}
	for _, a := range t.Approvals {
		back(&a.EndedAt)
	}
	for _, c := range s.Children {
		if c.Turn == t.ID && c.Ended != nil {
			back(&c.EndedAt)
		}
	}
}

// openInTurn describes an entity that the turn has open, or returns "". A waiting
// approval has an open call.
func (s *State) openInTurn(t *Turn) string {
	if a := t.Attempt(); a != nil {
		return fmt.Sprintf("attempt %q is running", a.ID)
	}
	for i := range t.openItems() {
		return fmt.Sprintf("item %q is open", i.ID)
	}
	for _, child := range s.Children {
		if child.Turn == t.ID && child.Ended == nil {
			return fmt.Sprintf("child %q is running", child.Child)
		}
	}
	for _, h := range t.Hooks {
		if h.Ended == nil {
			return fmt.Sprintf("hook %q is running", h.Hook)
		}
	}
	return ""
}

// openInCall describes an entity that the call has open, or returns "": approvals,
// children and hooks end before their call, so that no question concerns an ended call.
func (s *State) openInCall(t *Turn, i *Item) string {
	if i.Type() != ToolCall {
		return ""
	}
	for _, a := range t.Approvals {
		if a.Call == i.ID && a.Ended == nil {
			return fmt.Sprintf("approval %q waits", a.Approval)
		}
	}
	for _, child := range s.Children {
		if child.Turn == t.ID && child.Item == i.ID && child.Ended == nil {
			return fmt.Sprintf("child %q is running", child.Child)
		}
	}
	for _, h := range t.Hooks {
		if h.Item == i.ID && h.Ended == nil {
			return fmt.Sprintf("hook %q is running", h.Hook)
		}
	}
	return ""
}

// runsIn reports whether the child runs in the foreground of the call.
func (s *State) runsIn(child, call string) bool {
	c := s.Child(child)
	return c != nil && c.Item == call && c.Ended == nil
}

// attemptStarted: all calls of the previous step have ended.
func (s *State) attemptStarted(t *Turn, e *Event, d AttemptStarted) string {
	if a := t.Attempt(); a != nil {
		return fmt.Sprintf("attempt %q is running", a.ID)
	}
	if e.Attempt == "" ||
		!isNew(e.Attempt, t.lastAttempt) &&
			slices.ContainsFunc(t.Attempts, func(a *Attempt) bool { return a.ID == e.Attempt }) {
		return fmt.Sprintf("%q is not a new attempt's id", e.Attempt)
	}
	for i := range t.openItems() {
		return fmt.Sprintf("item %q is open", i.ID)
	}
	taken, what := s.takeInputs(d.Inputs)
	if what != "" {
		return what
	}
	s.count.attempts++
	t.lastAttempt, t.OutputAt = greater(t.lastAttempt, e.Attempt), time.Time{}
	t.Attempts = append(t.Attempts, &Attempt{ID: e.Attempt, Start: d, StartedAt: e.At, Inputs: taken})
	return ""
}

// attemptEnded: only calls with complete arguments can remain open, since they
// continue to run.
func (t *Turn) attemptEnded(e *Event, d AttemptEnded) string {
	a := t.Attempt()
	if a == nil || a.ID != e.Attempt {
		return fmt.Sprintf("attempt %q is not running", e.Attempt)
	}
	if d.Outcome != Completed && d.Outcome != Aborted && d.Outcome != Failed {
		return fmt.Sprintf("%q is not an attempt's outcome", d.Outcome)
	}
	for i := range t.openItems() {
		if i.Attempt == a.ID && !i.Ready {
			return fmt.Sprintf("item %q is open", i.ID)
		}
	}
	for _, id := range d.Discarded {
		// C5: an open call could still start, and a later attempt would repeat it.
		if i := t.Item(id); i == nil || i.Attempt != a.ID || i.Started || i.Status == ItemOpen {
			return fmt.Sprintf("item %q cannot be discarded", id)
		}
	}
	for _, id := range d.Discarded {
		t.Item(id).Discarded = true
	}
	a.End, a.EndedAt, t.OutputAt = &d, e.At, time.Time{}
	return ""
}

func (s *State) itemStarted(t *Turn, e *Event, d ItemStarted) string {
	if e.Item == "" || !isNew(e.Item, t.lastItem) && t.Item(e.Item) != nil {
		return fmt.Sprintf("%q is not a new item's id", e.Item)
	}
	if e.Attempt != "" {
		if a := t.Attempt(); a == nil || a.ID != e.Attempt {
			return fmt.Sprintf("attempt %q is not running", e.Attempt)
		}
	}
	s.count.items++
	t.open++
	t.lastItem = greater(t.lastItem, e.Item)
	t.Items = append(t.Items, &Item{
		ID: e.Item, Turn: t.ID, Attempt: e.Attempt, Attempts: len(t.Attempts), Status: ItemOpen, BegunAt: e.At,
		content: Content{Type: d.Type, ProviderID: d.ProviderID, CallID: d.CallID, Name: d.Name},
	})
	return ""
}

func (i *Item) delta(d ItemDelta) string {
	isCall := i.Type() == ToolCall
	switch {
	case d.Stream == Text && !isCall:
		i.text = append(i.text, d.Text...)
	case d.Stream == Arguments && isCall && !i.Ready:
		i.args = append(i.args, d.Text...)
	case d.Stream == Output && isCall && i.Started:
		i.out = append(i.out, d.Text...)
	default:
		return fmt.Sprintf("item %q takes no %s now", i.ID, d.Stream)
	}
	return ""
}

func (i *Item) callReady(d CallReady) string {
	if i.Type() != ToolCall || i.Ready {
		return fmt.Sprintf("item %q is not a call that waits for its arguments", i.ID)
	}
	i.Ready = true
	i.content.Name, i.content.Arguments, i.content.Sent, i.content.Signature = d.Name, d.Arguments, d.Sent, d.Signature
	if d.CallID != "" {
		i.content.CallID = d.CallID
	}
	i.args = nil
	return ""
}

// callStarted: C5 and C16, a call starts once, and only after each of its approvals
// was given and each of its hooks allowed it.
func (t *Turn) callStarted(i *Item, e *Event, d CallStarted) string {
	if !i.Ready || i.Started {
		return fmt.Sprintf("item %q is not a call that is ready to start", i.ID)
	}
	edited := false
	for _, a := range t.Approvals {
		if a.Call != i.ID {
			continue
		}
		if !a.granted() {
			return fmt.Sprintf("approval %q was not given", a.Approval)
		}
		edited = edited || a.Ended.Arguments != "" && a.Ended.Arguments == d.Arguments
	}
	for _, h := range t.Hooks {
		if h.Item == i.ID && h.mayRefuse() {
			return fmt.Sprintf("hook %q did not let it pass", h.Hook)
		}
	}
	i.Started, i.StartedAt = true, e.At
	i.content.Effective, i.Edited = d.Arguments, edited
	return ""
}

// tells checks C18: one note reports the end of a background child.
func (s *State) tells(i *Item, d ItemEnded) string {
	if d.Child == "" {
		return ""
	}
	if c := s.Child(d.Child); i.Type() != Note || c == nil || !c.Unreported() {
		return fmt.Sprintf("item %q cannot report the end of child %q", i.ID, d.Child)
	}
	return ""
}

func (s *State) itemEnded(t *Turn, i *Item, e *Event, d ItemEnded) string {
	isCall := i.Type() == ToolCall
	switch {
	case d.Type != i.Type():
		return fmt.Sprintf("item %q is a %s, not a %s", i.ID, i.Type(), d.Type)
	case d.Status != ItemCompleted && d.Status != ItemFailed && d.Status != ItemAborted:
		return fmt.Sprintf("%q is not an ended item's status", d.Status)
	case d.Status == ItemAborted && d.Cause == nil:
		return fmt.Sprintf("item %q was aborted without a cause", i.ID)
	case d.Status == ItemCompleted && isCall && !i.Started:
		return fmt.Sprintf("call %q completed without having started", i.ID)
	case (d.Effects != "") != (isCall && d.Status == ItemAborted):
		return fmt.Sprintf(
			"item %q is %s with effects %q: an aborted call has them, and nothing else",
			i.ID,
			d.Status,
			d.Effects,
		)
	case d.Effects != "" && (d.Effects == EffectsNone) == i.Started:
		return fmt.Sprintf("call %q has effects %q: they are none exactly if it never started", i.ID, d.Effects)
	}
	i.Status, i.Effects, i.Cause, i.EndedAt = d.Status, d.Effects, d.Cause, e.At
	i.content = d.Content
	if d.Child != "" && d.Status == ItemCompleted {
		s.Child(d.Child).Reported = true
	}
	t.open--
	i.text, i.args, i.out = nil, nil, nil
	return ""
}

func (s *State) approvalRequested(t *Turn, e *Event, d ApprovalRequested) string {
	i := t.Item(e.Item)
	switch {
	case i == nil || i.Status != ItemOpen || !i.Ready || i.Started && d.Child == "" && d.Form == nil:
		return fmt.Sprintf("item %q is not a call that is ready to start", e.Item)
	case d.Form != nil && !i.Started:
		return fmt.Sprintf("call %q asks for input, and has not started", e.Item)
	case d.Child != "" && !s.runsIn(d.Child, e.Item):
		return fmt.Sprintf("child %q does not run in call %q", d.Child, e.Item)
	}
	if d.Approval == "" || t.Approval(d.Approval) != nil {
		return fmt.Sprintf("%q is not a new approval's id", d.Approval)
	}
	s.count.approvals++
	t.Approvals = append(t.Approvals, &Approval{ApprovalRequested: d, Call: e.Item, At: e.At})
	return ""
}

func (t *Turn) approvalEnded(e *Event, d ApprovalEnded) string {
	a := t.Approval(d.Approval)
	if a == nil || a.Ended != nil {
		return fmt.Sprintf("approval %q does not wait", d.Approval)
	}
	a.Ended, a.EndedAt, a.EndedBy = &d, e.At, e.By
	if i := t.Item(a.Call); i != nil && d.Verdict == Denied && a.Form == nil && a.Child == "" {
		i.Denial = a
	}
	return ""
}

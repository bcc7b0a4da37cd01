package event

import (
	"cmp"
	"fmt"
	"slices"
)

// OrderError reports an event that cannot follow the events before it: a second
// ending, an ending without a start, an event after the terminal event.
type OrderError struct {
	Seq  uint64
	Kind Kind
	What string
}

func (e *OrderError) Error() string {
	return fmt.Sprintf("event %d (%s) is out of order: %s", e.Seq, e.Kind, e.What)
}

// Fold returns the state after e. It is the only derivation of state.
//
// Like append with a slice, it may reuse the memory of s. After an error, s is unchanged
// and remains valid. The events of a session must come without gaps; a reader that
// skips the deltas of ended items advances s.Seq itself.
func Fold(s State, e Event) (State, error) {
	err := s.Apply(&e)
	return s, err
}

// Apply is [Fold] in place: it makes s the state after e. After an error, s is unchanged.
func (s *State) Apply(e *Event) error {
	if e.Seq != s.Seq+1 {
		return &OrderError{e.Seq, e.Kind(), fmt.Sprintf("it follows event %d", s.Seq)}
	}
	if (s.Seq > 0 || s.Session != "") && e.Session != s.Session {
		what := fmt.Sprintf("it belongs to session %q, not %q", e.Session, s.Session)
		return &OrderError{e.Seq, e.Kind(), what}
	}
	if what := s.apply(e); what != "" {
		return &OrderError{e.Seq, e.Kind(), what}
	}
	if s.Seq == 0 {
		s.Session, s.Created = e.Session, e.At
	}
	s.Seq, s.Updated = e.Seq, e.At
	if t := s.running(); t != nil {
		t.output(e)
	}
	if s.Host.Imported {
		s.Imported = e.Seq
	}
	return nil
}

// admits checks the rules of all kinds: no event belongs to a session without a
// holder, or to a turn that is not running (C1).
func (s *State) admits(e *Event) string {
	switch e.Data.(type) {
	case nil:
		return "it says nothing"
	case Unknown:
		return ""
	case SessionOpened, SessionRecovered:
	default:
		if !s.Open {
			return "the session is not open"
		}
	}
	if _, starts := e.Data.(TurnStarted); starts || e.Turn == "" {
		return ""
	}
	if t := s.running(); t == nil || t.ID != e.Turn {
		return fmt.Sprintf("turn %q is not running", e.Turn)
	}
	return ""
}

// apply adds the event to the state, or returns a description of its fault.
func (s *State) apply(e *Event) string {
	if what := s.admits(e); what != "" {
		return what
	}
	switch e.Data.(type) {
	case ItemDelta, CallReady, CallStarted, ItemEnded:
		return s.inItem(e)
	}
	return s.inSession(e)
}

// inSession applies events that are not of an open item.
func (s *State) inSession(e *Event) string {
	switch d := e.Data.(type) {
	case SessionOpened:
		return s.sessionOpened(e, d)
	case SessionRecovered:
		return s.sessionEnded(nil)
	case SessionClosed:
		return s.sessionEnded(d.Worktree)
	case InputAccepted:
		return s.inputAccepted(e, d)
	case InputHeld:
		return s.inputHeld(d)
	case InputDropped:
		_, what := s.takeInputs([]string{d.Input})
		return what
	case InterruptRequested:
		s.interruptRequested(e, d)
	case JobStarted:
		return s.jobStarted(e, d)
	case JobEnded:
		return s.jobEnded(e, d)
	case ChildStarted:
		return s.childStarted(e, d)
	case ChildEnded:
		return s.childEnded(e, d)
	case ApprovalRequested:
		if e.Turn == "" {
			return s.childAsks(e, d)
		}
		return s.inTurn(e)
	case ApprovalEnded:
		if e.Turn == "" {
			return s.childAnswered(e, d)
		}
		return s.inTurn(e)
	case HookStarted:
		return s.hookStarted(e, d)
	case HookEnded:
		return s.hookEnded(e, d)
	case TurnStarted:
		return s.turnStarted(e, d)
	case Unknown:
	default:
		return s.inTurn(e)
	}
	return ""
}

// inTurn applies events that occur only in a running turn.
func (s *State) inTurn(e *Event) string {
	t := s.running()
	if t == nil || e.Turn == "" {
		return fmt.Sprintf("turn %q is not running", e.Turn)
	}
	switch d := e.Data.(type) {
	case HistoryChanged:
		t.Changes = append(t.Changes, Epoch{d, len(t.Attempts)})
		return ""
	case AttemptStarted:
		return s.attemptStarted(t, e, d)
	case AttemptEnded:
		return t.attemptEnded(e, d)
	case ItemStarted:
		return s.itemStarted(t, e, d)
	case ApprovalRequested:
		return s.approvalRequested(t, e, d)
	case ApprovalEnded:
		return t.approvalEnded(e, d)
	case TurnCompleted:
		return s.turnEnded(t, e, Complete(), d.Summary)
	case TurnAborted:
		c := Abort(d.Reason, e.By)
		c.Limit, c.Message = d.Limit, d.Message
		what := s.turnEnded(t, e, c, d.Summary)
		if what == "" && !d.StoppedAt.IsZero() {
			s.stopAt(t, d.StoppedAt)
		}
		return what
	case TurnFailed:
		return s.turnEnded(t, e, Fail(d.Failure), d.Summary)
	}
	return fmt.Sprintf("nothing folds a %s", e.Kind())
}

// inItem applies events that occur only in an open item.
func (s *State) inItem(e *Event) string {
	t := s.running()
	if t == nil || e.Turn == "" {
		return fmt.Sprintf("turn %q is not running", e.Turn)
	}
	i := t.Item(e.Item)
	switch {
	case i == nil:
		return fmt.Sprintf("item %q did not start", e.Item)
	case i.Status != ItemOpen:
		return fmt.Sprintf("item %q has ended", e.Item)
	case e.Attempt != "" && e.Attempt != i.Attempt:
		return fmt.Sprintf("item %q belongs to attempt %q, not %q", e.Item, i.Attempt, e.Attempt)
	}
	switch d := e.Data.(type) {
	case ItemDelta:
		return i.delta(d)
	case CallReady:
		return i.callReady(d)
	case CallStarted:
		return t.callStarted(i, e, d)
	case ItemEnded:
		if what := s.openInCall(t, i); what != "" {
			return what
		}
		if what := s.tells(i, d); what != "" {
			return what
		}
		return s.itemEnded(t, i, e, d)
	}
	return ""
}

func (s *State) sessionOpened(e *Event, d SessionOpened) string {
	if s.Open {
		return "the session is already open"
	}
	if d.Frontend == FrontendApprovals && s.HostSeq > 0 {
		d.Dir, d.Worktree = s.Host.Dir, s.Host.Worktree
	} else {
		s.WorktreeLeft = nil
	}
	s.Open, s.Host, s.HostSeq = true, d, e.Seq
	return ""
}

// sessionEnded: C2, session-scoped entities end before the host releases the
// session's lock.
func (s *State) sessionEnded(left *WorktreeLeft) string {
	switch {
	case s.running() != nil:
		return "a turn is running"
	case slices.ContainsFunc(s.Jobs, func(j *Job) bool { return j.Ended == nil }):
		return "a job is running"
	case slices.ContainsFunc(s.Children, func(c *Child) bool { return c.Ended == nil }):
		return "a child is running"
	case slices.ContainsFunc(s.Hooks, func(h *Hook) bool { return h.Ended == nil }):
		return "a hook is running"
	}
	if s.Open = false; s.Host.Frontend != FrontendApprovals || left != nil {
		s.WorktreeLeft = left
	}
	return ""
}

func (s *State) inputAccepted(e *Event, d InputAccepted) string {
	if d.Input == "" {
		return "the input has no id"
	}
	if s.Accepted(d.Input) {
		return fmt.Sprintf("input %q was accepted before", d.Input)
	}
	if s.inputs == nil {
		s.inputs = map[string]struct{}{}
	}
	s.inputs[d.Input] = struct{}{}
	s.count.inputs++
	s.Waiting = append(
		s.Waiting,
		Input{
			ID:        d.Input,
			Text:      d.Text,
			Images:    d.Images,
			Documents: d.Documents,
			Mode:      d.Mode,
			Schema:    d.Schema,
			Command:   d.Command,
			HeldCall:  d.HeldCall,
			By:        e.By,
			At:        e.At,
		},
	)
	return ""
}

func (s *State) inputHeld(d InputHeld) string {
	for i := range s.Waiting {
		if s.Waiting[i].ID == d.Input {
			s.Waiting[i].Held = true
			return ""
		}
	}
	return fmt.Sprintf("input %q does not wait", d.Input)
}

// takeInputs removes the inputs from the waiting inputs.
func (s *State) takeInputs(ids []string) ([]Input, string) {
	var taken []Input
	rest := slices.Clone(s.Waiting)
	for _, id := range ids {
		at := slices.IndexFunc(rest, func(i Input) bool { return i.ID == id })
		if at < 0 {
			return nil, fmt.Sprintf("input %q does not wait", id)
		}
		taken = append(taken, rest[at])
		rest = slices.Delete(rest, at, at+1)
	}
	s.Waiting = rest
	return taken, ""
}

func (s *State) interruptRequested(e *Event, d InterruptRequested) {
	if e.Turn == "" || e.Item != "" {
		return
	}
	if t := s.running(); t.Interrupt == nil {
		t.Interrupt = &d
	}
	if d.Reason == Replaced {
		return
	}
	for i := range s.Waiting { // C10: the interrupt covers the inputs accepted before it
		s.Waiting[i].Stopped = cmp.Or(d.Reason, Interrupted)
	}
}

func (s *State) jobStarted(e *Event, d JobStarted) string {
	if d.Job == "" || slices.ContainsFunc(s.Jobs, func(j *Job) bool { return j.Job == d.Job }) {
		return fmt.Sprintf("%q is not a new job's id", d.Job)
	}
	s.count.jobs++
	s.Jobs = append(s.Jobs, &Job{JobStarted: d, Turn: e.Turn, Call: e.Item, StartSeq: e.Seq, At: e.At})
	return ""
}

func (s *State) jobEnded(e *Event, d JobEnded) string {
	for _, j := range s.Jobs {
		if j.Job == d.Job && j.Ended == nil {
			j.Ended, j.EndSeq, j.EndedAt = &d, e.Seq, e.At
			return ""
		}
	}
	return fmt.Sprintf("job %q is not running", d.Job)
}

func (s *State) childStarted(e *Event, d ChildStarted) string {
	if d.Child == "" || slices.ContainsFunc(s.Children, func(c *Child) bool { return c.Child == d.Child }) {
		return fmt.Sprintf("%q is not a new child's id", d.Child)
	}
	if e.Turn != "" && e.Item != "" {
		if i := s.running().Item(e.Item); i == nil || i.Status != ItemOpen || !i.Started {
			return fmt.Sprintf("item %q is not a call that runs", e.Item)
		}
	}
	s.count.children++
	s.Children = append(s.Children, &Child{ChildStarted: d, Turn: e.Turn, Item: e.Item, StartSeq: e.Seq, At: e.At})
	return ""
}

func (s *State) childEnded(e *Event, d ChildEnded) string {
	for _, c := range s.Children {
		if c.Child == d.Child && c.Ended == nil {
			if a := c.waits(); a != nil {
				return fmt.Sprintf("approval %q waits", a.Approval)
			}
			c.Ended, c.EndSeq, c.EndedAt = &d, e.Seq, e.At
			return ""
		}
	}
	return fmt.Sprintf("child %q is not running", d.Child)
}

// childAsks: an approval of a background child belongs to the session while the child
// runs, since the call that started the child has ended, and perhaps its turn.
func (s *State) childAsks(e *Event, d ApprovalRequested) string {
	c := s.Child(d.Child)
	switch {
	case c == nil || !c.Background() || c.Ended != nil:
		return fmt.Sprintf("child %q does not run in the background", d.Child)
	case d.Approval == "" || c.Approval(d.Approval) != nil:
		return fmt.Sprintf("%q is not a new approval's id", d.Approval)
	}
	s.count.approvals++
	c.Approvals = append(c.Approvals, &Approval{ApprovalRequested: d, Call: c.Call, At: e.At})
	return ""
}

func (s *State) childAnswered(e *Event, d ApprovalEnded) string {
	for _, c := range s.Children {
		if a := c.Approval(d.Approval); a != nil && a.Ended == nil {
			a.Ended, a.EndedAt, a.EndedBy = &d, e.At, e.By
			return ""
		}
	}
	return fmt.Sprintf("approval %q does not wait", d.Approval)
}

// waits returns an approval that the child waits for, or nil.
func (c *Child) waits() *Approval {
	for _, a := range c.Approvals {
		if a.Ended == nil {
			return a
		}
	}
	return nil
}

// Recall applies a skipped delta to its item, if the item belongs to the running turn
// and is open, and returns the state. Deltas of one item must come in order. Recall does
// not change text that the item's ending or call.ready repeats.
func Recall(s State, e Event) (State, error) {
	d, ok := e.Data.(ItemDelta)
	t := s.running()
	if !ok || t == nil || t.ID != e.Turn || e.Session != s.Session {
		return s, &OrderError{e.Seq, e.Kind(), "it is no delta of the running turn"}
	}
	i := t.Item(e.Item)
	if i == nil {
		return s, &OrderError{e.Seq, e.Kind(), fmt.Sprintf("item %q did not start", e.Item)}
	}
	if i.Status == ItemOpen && !(i.Ready && d.Stream == Arguments) {
		if what := i.delta(d); what != "" {
			return s, &OrderError{e.Seq, e.Kind(), what}
		}
	}
	if e.At.After(t.OutputAt) {
		t.output(&e)
	}
	if e.Seq == s.Seq {
		s.Updated = e.At
	}
	return s, nil
}

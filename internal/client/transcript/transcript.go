package transcript

import (
	"fmt"
	"slices"

	"github.com/settle-agent/settle/event"
)

// Mode decides when a transcript reports the items of an attempt.
type Mode string

// The modes.
const (
	// Live reports every change at once.
	Live Mode = "live"
	// Final reports an item when it is committed, from its start on. Discarded items are never
	// reported. The text is one piece.
	Final Mode = "final"
	// Complete is Final with discarded items as well: their start, their end, and that they are
	// discarded.
	Complete Mode = "complete"
)

// Transcript turns the events of a session, in order, into changes. It belongs
// to one goroutine at a time. In the mode Live, every event is a change.
type Transcript struct {
	mode  Mode
	state event.State
	// open are the items that were neither committed nor discarded, in the order in which
	// they started, and running is the index of the attempt's last running call among the
	// turn's items, or -1.
	open    []*pending
	running int
	changes []Change // of the last event
}

// pending is an item that may yet be discarded.
type pending struct {
	item *event.Item
	turn *event.Turn
	at   int           // its place among the turn's items
	held []event.Event // not reported yet; nil in mode Live
}

// New returns a transcript that continues from the state. It takes the state over as
// [event.Fold] does. The zero state is the beginning of a session.
func New(state event.State, mode Mode) *Transcript {
	t := &Transcript{mode: mode, state: state, running: -1}
	if turn := state.Running(); turn != nil {
		t.resume(turn)
	}
	return t
}

// resume notes which items of a running turn can still be discarded. In the modes that hold
// items, these items are not reported yet.
func (t *Transcript) resume(turn *event.Turn) {
	a := turn.Attempt()
	for n, i := range turn.Items {
		if a != nil && i.Attempt == a.ID && i.Started {
			t.running = n
		}
	}
	for n, i := range turn.Items {
		if i.Type() == event.Digest {
			continue
		}
		p := &pending{item: i, turn: turn, at: n}
		if !t.stays(p) && (a != nil && i.Attempt == a.ID || i.Attempt == "" && i.Status == event.ItemOpen) {
			if t.mode != Live {
				p.held = eventsOf(i)
			}
			t.open = append(t.open, p)
		}
	}
}

// MayBeDiscarded reports whether a later attempt can replace the item.
func (t *Transcript) MayBeDiscarded(i *event.Item) bool {
	return slices.ContainsFunc(t.open, func(p *pending) bool { return p.item == i })
}

// State is the session after the last event that was taken. It is valid until
// the next one; [event.State.Clone] makes a copy to keep.
func (t *Transcript) State() event.State { return t.state }

// Take takes the next event and returns its changes. The changes are valid until the next event. An
// error means that the event cannot follow.
func (t *Transcript) Take(e event.Event) ([]Change, error) {
	clear(t.changes)
	t.changes = t.changes[:0]
	rest, dropped := t.before(e)
	state, err := event.Fold(t.state, e)
	if err != nil {
		return nil, fmt.Errorf("cannot follow the session: %w", err)
	}
	t.state = state
	base := t.change(e)
	switch d := e.Data.(type) {
	case event.ItemStarted, event.ItemDelta, event.CallReady, event.CallStarted, event.ItemEnded:
		if base.Item != nil && base.Item.Type() == event.Digest { // it is no part of the conversation
			t.tell(base, Turn, Updated)
			break
		}
		t.itemChanged(base, rest)
	case event.AttemptEnded:
		t.settle(base, d)
		t.tell(base, Attempt, Ended)
	case event.InputDropped:
		base.Input = dropped
		t.tell(base, Input, Ended)
	default:
		t.tellChange(base)
	}
	return t.changes, nil
}

// before returns the parts of the state that the event is about to remove: the text of an item that
// its deltas did not contain, and an input that is dropped.
func (t *Transcript) before(e event.Event) (rest string, dropped *event.Input) {
	switch d := e.Data.(type) {
	case event.ItemEnded:
		if turn := t.state.Turn(e.Turn); turn != nil && d.Text != "" {
			if i := turn.Item(e.Item); i != nil {
				if text, ok := i.Beyond(d.Text); ok {
					return text, nil
				}
			}
		}
	case event.InputDropped:
		for _, in := range t.state.Waiting {
			if in.ID == d.Input {
				return "", &in
			}
		}
	}
	return "", nil
}

// change is the change of an event, so far as its envelope says.
func (t *Transcript) change(e event.Event) Change {
	c := Change{Event: e, State: &t.state}
	if e.Turn == "" {
		return c
	}
	if c.Turn = t.state.Turn(e.Turn); c.Turn == nil {
		return c
	}
	if e.Attempt != "" {
		for _, a := range slices.Backward(c.Turn.Attempts) {
			if a.ID == e.Attempt {
				c.Attempt = a
				break
			}
		}
	}
	if e.Item != "" {
		c.Item = c.Turn.Item(e.Item)
	}
	return c
}

func (t *Transcript) tell(c Change, thing Thing, what What) {
	c.Thing, c.What = thing, what
	t.changes = append(t.changes, c)
}

// tellChange records the changes of everything except items.
func (t *Transcript) tellChange(c Change) {
	switch d := c.Event.Data.(type) {
	case event.SessionOpened:
		t.tell(c, Session, Started)
	case event.SessionRecovered, event.SessionClosed:
		t.tell(c, Session, Ended)
	case event.InputAccepted:
		t.input(c, d.Input, Started)
	case event.InputHeld:
		t.input(c, d.Input, Updated)
	case event.InterruptRequested:
		t.interrupted(c, d)
	case event.TurnStarted:
		t.tell(c, Turn, Started)
		t.taken(c, c.Turn.Inputs)
	case event.HistoryChanged:
		t.tell(c, Turn, Updated)
	case event.AttemptStarted:
		t.tell(c, Attempt, Started)
		t.taken(c, c.Attempt.Inputs)
	case event.ApprovalRequested:
		c.Approval = t.approval(c, d.Approval)
		t.tell(c, Approval, Started)
	case event.ApprovalEnded:
		c.Approval = t.approval(c, d.Approval)
		t.tell(c, Approval, Ended)
	case event.TurnCompleted, event.TurnAborted, event.TurnFailed:
		t.open, t.running = nil, -1
		t.tell(c, Turn, Ended)
	default:
		t.background(c)
	}
}

// background reports changes of jobs and child agents, which can outlive a turn.
func (t *Transcript) background(c Change) {
	switch d := c.Event.Data.(type) {
	case event.JobStarted:
		c.Job = t.job(d.Job)
		t.tell(c, Job, Started)
	case event.JobEnded:
		c.Job = t.job(d.Job)
		t.tell(c, Job, Ended)
	case event.ChildStarted:
		c.Child = t.child(d.Child)
		t.tell(c, Child, Started)
	case event.ChildEnded:
		c.Child = t.child(d.Child)
		t.tell(c, Child, Ended)
	default: // of a newer settle
		t.tell(c, Session, Updated)
	}
}

// interrupted reports a request to end a call, a turn or a waiting input.
func (t *Transcript) interrupted(c Change, d event.InterruptRequested) {
	switch {
	case c.Item != nil:
		t.tell(c, Item, Updated)
	case c.Turn != nil:
		t.tell(c, Turn, Updated)
	default:
		t.input(c, d.Input, Updated)
	}
}

// input reports a change of a waiting input. If the input does not wait, it reports the change as
// one of the session.
func (t *Transcript) input(c Change, id string, what What) {
	for n := range t.state.Waiting {
		if t.state.Waiting[n].ID == id {
			c.Input = &t.state.Waiting[n]
			t.tell(c, Input, what)
			return
		}
	}
	t.tell(c, Session, Updated)
}

// taken reports that a turn takes inputs.
func (t *Transcript) taken(c Change, inputs []event.Input) {
	for n := range inputs {
		c.Input = &inputs[n]
		t.tell(c, Input, Ended)
	}
}

// approval returns an approval of a turn, or of a background child agent.
func (t *Transcript) approval(c Change, id string) *event.Approval {
	if c.Turn != nil {
		return c.Turn.Approval(id)
	}
	for _, child := range slices.Backward(t.state.Children) {
		if a := child.Approval(id); a != nil {
			return a
		}
	}
	return nil
}

func (t *Transcript) job(id string) *event.Job {
	for _, j := range slices.Backward(t.state.Jobs) {
		if j.Job == id {
			return j
		}
	}
	return nil
}

func (t *Transcript) child(id string) *event.Child {
	for _, c := range slices.Backward(t.state.Children) {
		if c.Child == id {
			return c
		}
	}
	return nil
}

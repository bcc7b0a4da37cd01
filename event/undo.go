package event

import "slices"

// Undo returns a function that takes the events back: it returns the original state s
// after [Fold] has applied any number of the events. Its cost grows with the entities
// that the events change; the cost of [State.Clone] grows with the session.
func (s *State) Undo(events []Event) func() State {
	u := undo{state: *s}
	u.state.Waiting = slices.Clone(s.Waiting)
	if t := s.running(); t != nil {
		keep(&u, t)
	}
	for i := range events {
		u.note(&events[i])
	}
	return func() State {
		for _, restore := range u.restore {
			restore()
		}
		for _, id := range u.inputs {
			delete(u.state.inputs, id)
		}
		return u.state
	}
}

// undo keeps the parts of a state that Undo restores.
type undo struct {
	state   State
	restore []func()
	inputs  []string // that were not accepted before
}

// keep records the present value of the thing, which Undo restores.
func keep[T any](u *undo, thing *T) {
	before := *thing
	u.restore = append(u.restore, func() { *thing = before })
}

// note keeps the entities that the event can change, except the running turn.
func (u *undo) note(e *Event) {
	s := &u.state
	switch d := e.Data.(type) {
	case InputAccepted:
		if !s.Accepted(d.Input) {
			u.inputs = append(u.inputs, d.Input)
		}
	case JobEnded:
		for _, j := range s.Jobs {
			if j.Job == d.Job {
				keep(u, j)
			}
		}
	case ChildEnded:
		u.keepChild(d.Child)
	case HookEnded:
		if h := findHook(s.Hooks, d.Hook); h != nil {
			keep(u, h)
		}
	case ItemEnded:
		u.keepChild(d.Child)
	case ApprovalRequested:
		u.keepChild(d.Child)
	case ApprovalEnded:
		for _, c := range s.Children {
			if a := c.Approval(d.Approval); a != nil {
				keep(u, a)
			}
		}
	}
	if t := s.running(); t != nil && e.Turn == t.ID {
		u.noteIn(t, e)
	}
}

func (u *undo) noteIn(t *Turn, e *Event) {
	switch d := e.Data.(type) {
	case AttemptEnded:
		if a := t.Attempt(); a != nil {
			keep(u, a)
		}
		for _, id := range d.Discarded {
			u.keepItem(t, id)
		}
	case HookEnded:
		if h := t.Hook(d.Hook); h != nil {
			keep(u, h)
		}
	case ApprovalEnded:
		if a := t.Approval(d.Approval); a != nil {
			keep(u, a)
		}
	case TurnAborted:
		if !d.StoppedAt.IsZero() {
			u.keepAll(t)
		}
	}
	u.keepItem(t, e.Item)
}

// keepAll keeps everything in the turn: the time of its end moves.
func (u *undo) keepAll(t *Turn) {
	for _, a := range t.Attempts {
		keep(u, a)
	}
	for _, i := range t.Items {
		keep(u, i)
	}
	for _, a := range t.Approvals {
		keep(u, a)
	}
	for _, c := range u.state.Children {
		if c.Turn == t.ID {
			keep(u, c)
		}
	}
}

func (u *undo) keepChild(id string) {
	for _, c := range u.state.Children {
		if id != "" && c.Child == id {
			keep(u, c)
		}
	}
}

func (u *undo) keepItem(t *Turn, id string) {
	if id == "" {
		return
	}
	if i := t.Item(id); i != nil {
		keep(u, i)
	}
}

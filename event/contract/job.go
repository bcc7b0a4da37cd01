package contract

import "github.com/settle-agent/settle/event"

// job is a process that the session owns.
type job struct{ ended bool }

// child is a child agent; turn is empty for a background child.
type child struct {
	turn, call string
	ended      bool
	reported   bool // a note has reported its end to the model
	approvals  map[string]*approval
}

// unreported reports whether the model has yet to receive the child's result.
func (c *child) unreported() bool { return c.turn == "" && c.ended && !c.reported }

// jobStarted: C7, a job is listed, with its pid.
func (l *log) jobStarted(d event.JobStarted) {
	if d.Job == "" || l.jobs[d.Job] != nil {
		l.breaks("C2", "%q is not a new job's id", d.Job)
		return
	}
	if d.PID <= 0 {
		l.breaks("C7", "job %s has the pid %d", d.Job, d.PID)
	}
	l.jobs[d.Job] = &job{}
}

func (l *log) jobEnded(d event.JobEnded) {
	j := l.jobs[d.Job]
	if j == nil || j.ended {
		l.breaks("C2", "job %s is not running", d.Job)
		return
	}
	j.ended = true
	switch d.How {
	case event.JobExited, event.JobKilled, event.JobReleased, event.JobLost:
	default:
		l.breaks("C2", "job %s ends as %q", d.Job, d.How)
	}
	l.survivors(d.Survivors)
}

func (l *log) childStarted(e event.Event, d event.ChildStarted) {
	if d.Child == "" || l.children[d.Child] != nil {
		l.breaks("C18", "%q is not a new child's id", d.Child)
		return
	}
	if e.Turn != "" && e.Item != "" {
		if i := l.running.items[e.Item]; i == nil || i.ended || !i.started {
			l.breaks("C18", "call %s, the parent of child %s, is not running", e.Item, d.Child)
		}
	}
	l.children[d.Child] = &child{turn: e.Turn, call: e.Item, approvals: map[string]*approval{}}
}

// childEnded: C18, a child ends once, and with a cause if it did not complete.
func (l *log) childEnded(d event.ChildEnded) {
	c := l.children[d.Child]
	if c == nil || c.ended {
		l.breaks("C18", "child %s is not running", d.Child)
		return
	}
	c.ended = true
	for id, a := range c.approvals {
		if !a.ended {
			l.breaks("C16", "approval %s of child %s waits", id, d.Child)
		}
	}
	switch d.Outcome {
	case event.Completed:
	case event.Aborted, event.Failed:
		l.cause(d.Cause, "child "+d.Child)
	default:
		l.breaks("C18", "child %s ends as %q", d.Child, d.Outcome)
	}
}

// tells checks C18: one note reports the end of a background child to the model.
func (l *log) tells(t *turn, i *item, d event.ItemEnded) {
	if d.Child == "" {
		return
	}
	c := l.children[d.Child]
	switch {
	case c == nil || i.kind != event.Note:
		l.breaks("C18", "item %s reports the end of child %q, which it cannot do", i.id, d.Child)
	case c.turn != "":
		l.breaks("C18", "item %s reports the end of child %s, which is the result of its call", i.id, d.Child)
	case !c.ended:
		l.breaks("C18", "item %s reports the end of child %s, which is running", i.id, d.Child)
	case c.reported:
		l.breaks("C18", "item %s reports the end of child %s a second time", i.id, d.Child)
	case d.Status == event.ItemCompleted:
		c.reported, t.unsent = true, d.Child
	}
}

// untold: C18, a turn with a model request does not complete while a child's result is
// unreported.
func (l *log) untold(t *turn) {
	if t.latest == nil {
		return
	}
	if t.unsent != "" {
		l.breaks("C18", "turn %s completes, and no request reported the end of child %s to its model", t.id, t.unsent)
	}
	for id, c := range l.children {
		if c.unreported() {
			l.breaks("C18", "turn %s completes, and the end of child %s is unreported to its model", t.id, id)
		}
	}
}

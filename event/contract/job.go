package contract

import "github.com/settle-agent/settle/event"

// job is a process that the session owns.
type job struct{ ended bool }

// child is a child agent; turn is empty for one in the background.
type child struct {
	turn, call string
	ended      bool
}

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
	l.children[d.Child] = &child{turn: e.Turn, call: e.Item}
}

// childEnded: C18, a child ends once, and with a cause if it did not complete.
func (l *log) childEnded(d event.ChildEnded) {
	c := l.children[d.Child]
	if c == nil || c.ended {
		l.breaks("C18", "child %s is not running", d.Child)
		return
	}
	c.ended = true
	switch d.Outcome {
	case event.Completed:
	case event.Aborted, event.Failed:
		l.cause(d.Cause, "child "+d.Child)
	default:
		l.breaks("C18", "child %s ends as %q", d.Child, d.Outcome)
	}
}

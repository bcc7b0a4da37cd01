package contract

import "github.com/settle-agent/settle/event"

// input is an accepted input.
type input struct {
	place int // of its event in the log
	waits bool
	held  bool
}

func (l *log) accepted(d event.InputAccepted) {
	if d.Input == "" || l.inputs[d.Input] != nil {
		l.breaks("C19", "%q is not a new input's id", d.Input)
		return
	}
	l.inputs[d.Input] = &input{place: l.place, waits: true}
}

func (l *log) held(d event.InputHeld) {
	in := l.inputs[d.Input]
	if in == nil || !in.waits {
		l.breaks("C19", "input %s does not wait", d.Input)
		return
	}
	in.held = true
}

// take: C19, an input is run or dropped once.
func (l *log) take(clause, id string) {
	in := l.inputs[id]
	if in == nil || !in.waits {
		l.breaks(clause, "input %s does not wait: it was not accepted, or was taken before", id)
		return
	}
	in.waits = false
}

// interrupted notes what the request covers: its turn, or an input that has not
// started yet (C10).
func (l *log) interrupted(e event.Event, d event.InterruptRequested) {
	if d.Reason == "" {
		l.breaks("C14", "it gives no reason")
	}
	switch {
	case e.Item != "":
	case e.Turn != "":
		t := l.running
		if !t.interrupted {
			t.interrupted, t.interruptAt = true, e.At
		}
		if d.Reason != event.Replaced {
			t.stopPlace = l.place
		}
	case d.Input != "":
		l.covered[d.Input] = true
	}
}

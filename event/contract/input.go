package contract

import (
	"slices"

	"github.com/settle-agent/settle/event"
)

// input is an accepted input.
type input struct {
	place int // of its event in the log
	waits bool
	held  bool
	// command reports whether the input is a command, and ran whether it ran.
	command, ran bool
	verdict      *event.HeldVerdict // about a held call, if it is one
}

func (l *log) accepted(d event.InputAccepted) {
	if d.Input == "" || l.inputs[d.Input] != nil {
		l.breaks("C19", "%q is not a new input's id", d.Input)
		return
	}
	l.inputs[d.Input] = &input{place: l.place, waits: true, command: d.Command, verdict: d.HeldCall}
	l.heldAnswered(d)
}

func (l *log) held(d event.InputHeld) {
	in := l.inputs[d.Input]
	if in == nil || !in.waits {
		l.breaks("C19", "input %s does not wait", d.Input)
		return
	}
	in.held = true
}

// take: C19, an input runs or is dropped, once.
func (l *log) take(clause, id string) {
	in := l.inputs[id]
	if in == nil || !in.waits {
		l.breaks(clause, "input %s does not wait: it was not accepted, or was taken before", id)
		return
	}
	in.waits = false
}

// commandEntered: C5, a call that belongs to no attempt is a command that a person
// entered or a held call that a person approved, and runs once.
func (l *log) commandEntered(t *turn, i *item, d event.ItemStarted) {
	in := l.inputs[d.CallID]
	switch {
	case in == nil || !in.command && !in.approves() || !slices.Contains(t.inputs, d.CallID):
		l.breaks("C5", "the call is of no attempt, and %q is no command of turn %s", d.CallID, t.id)
	case in.ran:
		l.breaks("C5", "command %s was run before", d.CallID)
	default:
		in.ran = true
		if in.approves() {
			i.held = l.heldItem(in.verdict)
		}
	}
}

// commandsRan: C19, a completed turn has run all its commands.
func (l *log) commandsRan(t *turn) {
	for _, id := range t.inputs {
		if in := l.inputs[id]; in != nil && (in.command || in.approves()) && !in.ran {
			l.breaks("C19", "command %s was not run", id)
		}
	}
}

// onlyCommands reports whether all inputs are commands, which need no model.
func (l *log) onlyCommands(t *turn) bool {
	return len(t.inputs) > 0 && !slices.ContainsFunc(t.inputs, func(id string) bool {
		in := l.inputs[id]
		return in == nil || !in.command
	})
}

// interrupted records the entity that the request covers: its turn, or an input that has
// not started yet (C10).
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

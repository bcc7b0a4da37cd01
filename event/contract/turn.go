package contract

import (
	"slices"
	"time"

	"github.com/settle-agent/settle/event"
)

// maxFailures is how many failed attempts in a row end a turn, whatever their
// kinds.
const maxFailures = 50

// turn is one turn.
type turn struct {
	id          string
	inputs      []string
	covered     bool // an interrupt covered its input before it started
	interrupted bool
	interruptAt time.Time // if interrupted
	attempts    map[string]*attempt
	current     *attempt // running
	latest      *attempt // that ended last
	digest      *attempt // for a summary, that ended last
	purpose     event.Purpose
	failures    int
	items       map[string]*item
	order       []*item // as they started
	approvals   map[string]*approval
	summary     event.Summary // counted
	ended       bool
	volatile    bool   // its terminal event is not durable
	goesOn      bool   // input that waits runs after it
	wasStopped  bool   // somebody interrupted it
	unsent      string // a child whose end a note has told, in no request yet
	endPlace    int
	stopPlace   int // of the last request to interrupt it, not to make room for an input; or 0
}

func (l *log) turnStarted(e event.Event, d event.TurnStarted) {
	if l.running != nil {
		l.breaks("C3", "turn %s is running", l.running.id)
	}
	if l.last != nil && l.last.volatile {
		l.breaks("C3", "turn %s has not ended durably", l.last.id)
	}
	if e.Turn == "" || l.turns[e.Turn] != nil {
		l.breaks("C1", "%q is not a new turn's id", e.Turn)
	}
	if l.last != nil && d.Purpose == "" && l.newest(d.Inputs) < l.last.goesOnFrom() {
		l.breaks("C18", "no input came since turn %s ended or was interrupted", l.last.id)
	}
	t := &turn{
		id: e.Turn, purpose: d.Purpose, inputs: d.Inputs, attempts: map[string]*attempt{}, items: map[string]*item{}, approvals: map[string]*approval{},
	}
	if d.Purpose != "" && len(d.Inputs) > 0 {
		l.breaks("C19", "turn %s is for a %s, and takes inputs that it does not answer", e.Turn, d.Purpose)
	}
	for _, id := range d.Inputs {
		l.take("C19", id)
		t.covered = t.covered || l.covered[id]
	}
	l.turns[e.Turn] = t
	l.running = t
}

// goesOnFrom is the place from which on an input goes on after the turn. C18:
// nothing but a new one does after a turn that was interrupted, or that neither
// completed nor made room.
func (t *turn) goesOnFrom() int {
	if t.goesOn || t.wasStopped && t.stopPlace > 0 {
		return t.stopPlace
	}
	return t.endPlace
}

// newest is the place of the latest of the inputs.
func (l *log) newest(ids []string) int {
	place := 0
	for _, id := range ids {
		if in := l.inputs[id]; in != nil {
			place = max(place, in.place)
		}
	}
	return place
}

// turnRuns says whether the turn that the event names is running. C1: nothing
// of a turn comes after its terminal event.
func (l *log) turnRuns(e event.Event) bool {
	if _, starts := e.Data.(event.TurnStarted); starts || e.Turn == "" {
		return true
	}
	if old := l.turns[e.Turn]; old != nil && old.ended {
		l.breaks("C1", "turn %s has ended", e.Turn)
		return false
	}
	if l.running == nil || l.running.id != e.Turn {
		l.breaks("C2", "turn %q is not running", e.Turn)
		return false
	}
	return true
}

// inTurn reads the events that only a running turn can have.
func (l *log) inTurn(e event.Event) {
	t := l.running
	if t == nil || e.Turn == "" {
		l.breaks("C2", "it belongs to no turn")
		return
	}
	switch d := e.Data.(type) {
	case event.AttemptStarted:
		l.attemptStarted(t, e, d)
	case event.AttemptEnded:
		l.attemptEnded(t, e, d)
	case event.ItemStarted:
		l.itemStarted(t, e, d)
	case event.ApprovalRequested:
		l.approvalRequested(t, e, d)
	case event.ApprovalEnded:
		l.approvalEnded(t, e, d)
	case event.ItemDelta, event.ItemEnded, event.CallReady, event.CallStarted:
		l.inItem(t, e)
	case event.TurnCompleted:
		l.completed(t, d)
		l.turnEnded(t, e, d.Summary)
	case event.TurnAborted:
		l.aborted(t, d)
		l.turnEnded(t, e, d.Summary)
	case event.TurnFailed:
		l.failure(d.Failure)
		l.turnEnded(t, e, d.Summary)
	}
}

// completed: C14, only a turn whose last response ended well is completed, and
// one that an interrupt covered from the start is not (C10).
func (l *log) completed(t *turn, d event.TurnCompleted) {
	t.goesOn = true
	if t.purpose != "" { // it answers nothing
		return
	}
	l.commandsRan(t)
	l.untold(t)
	asked := t.latest != nil || !l.onlyCommands(t)
	if asked && (t.latest == nil || t.latest.outcome != event.Completed) {
		l.breaks("C14", "turn %s completed, and its last attempt did not", t.id)
	}
	if t.covered {
		l.breaks("C10", "turn %s completed, though its input was interrupted before", t.id)
	}
	if d.Answer != "" && d.Answer != t.answer() { // older logs have none
		l.breaks("C14", "the answer of turn %s is not its last message", t.id)
	}
}

// answer is the text of the last message that the model finished.
func (t *turn) answer() string {
	for _, i := range slices.Backward(t.order) {
		if i.kind == event.Message && i.status == event.ItemCompleted && !i.discarded {
			return i.said
		}
	}
	return ""
}

// aborted: C14, an end has its cause.
func (l *log) aborted(t *turn, d event.TurnAborted) {
	t.goesOn, t.wasStopped = d.Reason == event.Replaced, d.Reason == event.Interrupted
	if d.Reason == "" {
		l.breaks("C14", "it gives no reason")
	}
	if (d.Reason == event.LimitReached) != (d.Limit != "") {
		l.breaks("C14", "its reason is %q and its limit %q", d.Reason, d.Limit)
	}
	if d.Reason == event.Crashed {
		l.crashed = true
	}
}

func (l *log) failure(f *event.Failure) {
	if f == nil || f.Name == "" || f.Message == "" {
		l.breaks("C14", "it does not say what failed")
	}
}

// turnEnded: C1, C2, C9, C14.
func (l *log) turnEnded(t *turn, e event.Event, said event.Summary) {
	l.openThings(t)
	if t.interrupted && l.InterruptBound > 0 {
		if took := e.At.Sub(t.interruptAt); took > l.InterruptBound {
			l.breaks("C9", "the interrupt took %v, more than %v", took, l.InterruptBound)
		}
	}
	if said.Cost == 0 && said.Unpriced == 0 { // older logs know no costs
		said.Cost, said.Unpriced = t.summary.Cost, t.summary.Unpriced
	}
	if said != t.summary {
		l.breaks("C14", "its summary is %+v, and the events say %+v", said, t.summary)
	}
	t.ended, t.volatile, t.endPlace = true, e.Volatile, l.place
	l.running = nil
	if t.purpose == "" || !t.goesOn { // what answers nothing changes nothing for the input that waits
		l.last = t
	}
}

// openThings: C2, all that a turn started has ended before it does; C18, its
// foreground children among it; C16, approvals die with their turn.
func (l *log) openThings(t *turn) {
	if t.current != nil {
		l.breaks("C2", "attempt %s of turn %s is running", t.current.id, t.id)
	}
	for _, i := range t.order {
		if !i.ended {
			l.breaks("C2", "item %s of turn %s is open", i.id, t.id)
		}
	}
	for id, a := range t.approvals {
		if !a.ended {
			l.breaks("C16", "approval %s of turn %s waits", id, t.id)
		}
	}
	for id, c := range l.children {
		if c.turn == t.id && !c.ended {
			l.breaks("C18", "child %s of turn %s is running", id, t.id)
		}
	}
	for id, h := range l.hooks {
		if h.turn == t.id && !h.ended {
			l.breaks("C2", "hook %s of turn %s is running", id, t.id)
		}
	}
}

package contract

import (
	"slices"
	"time"

	"github.com/settle-agent/settle/event"
)

// maxFailures is the number of failed attempts in a row, of any kinds, that ends a turn.
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
	hooks       []*hook       // as they started
	summary     event.Summary // counted
	ended       bool
	volatile    bool   // its terminal event is not durable
	goesOn      bool   // waiting input runs after it
	wasStopped  bool   // a person or a client interrupted it
	unsent      string // a child whose end a note reports, which no request contains yet
	endPlace    int
	stopPlace   int // of the last request to interrupt it, except replacements; or 0
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
		id:        e.Turn,
		purpose:   d.Purpose,
		inputs:    d.Inputs,
		attempts:  map[string]*attempt{},
		items:     map[string]*item{},
		approvals: map[string]*approval{},
	}
	if d.Purpose != "" && len(d.Inputs) > 0 {
		l.breaks("C19", "turn %s is for a %s and takes inputs, which it does not answer", e.Turn, d.Purpose)
	}
	for _, id := range d.Inputs {
		l.take("C19", id)
		t.covered = t.covered || l.covered[id]
	}
	l.turns[e.Turn] = t
	l.running = t
}

// goesOnFrom is the place from which on inputs run after the turn. C18: after a turn that
// was interrupted, or that neither completed nor was replaced, only a new input runs.
func (t *turn) goesOnFrom() int {
	if t.goesOn || t.wasStopped && t.stopPlace > 0 {
		return t.stopPlace
	}
	return t.endPlace
}

// newest is the place of the latest input.
func (l *log) newest(ids []string) int {
	place := 0
	for _, id := range ids {
		if in := l.inputs[id]; in != nil {
			place = max(place, in.place)
		}
	}
	return place
}

// turnRuns reports whether the turn of the event is running. C1: the terminal event is
// the last event of a turn.
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

// inTurn reads events that occur only in a running turn.
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

// completed: C14, a turn completes only if its last response was complete; a turn whose
// input an interrupt covered before its start does not complete (C10).
func (l *log) completed(t *turn, d event.TurnCompleted) {
	t.goesOn = true
	if t.purpose != "" { // it answers nothing
		return
	}
	l.commandsRan(t)
	l.untold(t)
	requested := t.latest != nil || !l.onlyCommands(t)
	if requested && (t.latest == nil || t.latest.outcome != event.Completed) {
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
			return i.finalText
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
		l.breaks("C14", "it does not name the failure")
	}
}

// turnEnded: C1, C2, C9, C14.
func (l *log) turnEnded(t *turn, e event.Event, summary event.Summary) {
	l.openThings(t)
	if t.interrupted && l.InterruptBound > 0 {
		if elapsed := e.At.Sub(t.interruptAt); elapsed > l.InterruptBound {
			l.breaks("C9", "the interrupt took %v, more than %v", elapsed, l.InterruptBound)
		}
	}
	for _, h := range t.hooks { // in the order of event.Endings, since sums of floats depend on it
		if h.spent != nil {
			t.summary.Add(*h.spent)
		}
	}
	if summary.Cost == 0 && summary.Unpriced == 0 { // older logs know no costs
		summary.Cost, summary.Unpriced = t.summary.Cost, t.summary.Unpriced
	}
	if summary != t.summary {
		l.breaks("C14", "its summary is %+v, and the events add up to %+v", summary, t.summary)
	}
	t.ended, t.volatile, t.endPlace = true, e.Volatile, l.place
	l.running = nil
	if t.purpose == "" || !t.goesOn { // a turn without an answer does not affect waiting input
		l.last = t
	}
}

// openThings: C2, all entities of a turn end before the turn; C18, including foreground
// children; C16, an approval ends with its turn.
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

package contract

import (
	"errors"
	"fmt"
	"time"

	"github.com/settle-agent/settle/event"
)

// Check returns every violation of the contract that the whole log of a
// session shows, joined; nil if there is none. Turns must have ended; the
// session itself, its jobs and its background children can continue.
func Check(events []event.Event) error { return Checker{}.Check(events) }

// Checker is Check with options.
type Checker struct {
	// Unfinished reports that a host still writes the log: an open entity is then no
	// violation.
	Unfinished bool
	// InterruptBound, if set, is the longest time from a request to interrupt
	// a turn until its terminal event (C9), by the events' own clock.
	InterruptBound time.Duration
	// Secrets must not occur in any event (C15).
	Secrets []string
}

// Violation is one place where a log breaks the contract.
type Violation struct {
	// Clause is the number of the clause, such as "C5".
	Clause string
	// Seq and Kind are of the event that breaks it; 0 and "" for the end of the log.
	Seq  uint64
	Kind event.Kind
	What string
}

func (v *Violation) Error() string {
	if v.Seq == 0 {
		return fmt.Sprintf("%s: at the end: %s", v.Clause, v.What)
	}
	return fmt.Sprintf("%s: event %d (%s): %s", v.Clause, v.Seq, v.Kind, v.What)
}

// Violations returns the violations in an error of Check.
func Violations(err error) []*Violation {
	var out []*Violation
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			var v *Violation
			if errors.As(e, &v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// log is the state of the session so far, as the checker reads it.
type log struct {
	Checker
	found []error
	now   event.Event // being read

	lifecycle
	inputs   map[string]*input
	turns    map[string]*turn
	running  *turn
	last     *turn // that ended last
	jobs     map[string]*job
	children map[string]*child
	hooks    map[string]*hook
	covered  map[string]bool // inputs that an interrupt covers (C10)
	place    int             // of the event being read, from 1
}

// Check is the package's Check with the options of c.
func (c Checker) Check(events []event.Event) error {
	l := &log{
		Checker: c, inputs: map[string]*input{}, turns: map[string]*turn{},
		jobs: map[string]*job{}, children: map[string]*child{}, hooks: map[string]*hook{}, covered: map[string]bool{},
	}
	for i, e := range events {
		l.now, l.place = e, i+1
		l.read(e)
	}
	l.now = event.Event{}
	l.end()
	return errors.Join(l.found...)
}

// breaks records a violation by the current event.
func (l *log) breaks(clause, format string, args ...any) {
	l.found = append(l.found, &Violation{
		Clause: clause, Seq: l.now.Seq, Kind: l.now.Kind(), What: fmt.Sprintf(format, args...),
	})
}

func (l *log) read(e event.Event) {
	l.envelope(e)
	l.secrets(e)
	if _, unknown := e.Data.(event.Unknown); unknown || e.Data == nil {
		return
	}
	if !l.inSession(e) || !l.turnRuns(e) {
		return
	}
	switch d := e.Data.(type) {
	case event.SessionOpened, event.SessionRecovered, event.SessionClosed:
		l.session(e)
	case event.InputAccepted:
		l.accepted(d)
	case event.InputHeld:
		l.held(d)
	case event.InputDropped:
		l.take("C19", d.Input)
	case event.InterruptRequested:
		l.interrupted(e, d)
	case event.JobStarted:
		l.jobStarted(d)
	case event.JobEnded:
		l.jobEnded(d)
	case event.ChildStarted:
		l.childStarted(e, d)
	case event.ChildEnded:
		l.childEnded(d)
	case event.HookStarted:
		l.hookStarted(e, d)
	case event.HookEnded:
		l.hookEnded(e, d)
	case event.TurnStarted:
		l.turnStarted(e, d)
	case event.ApprovalRequested:
		if e.Turn == "" {
			l.childAsks(d)
			return
		}
		l.inTurn(e)
	case event.ApprovalEnded:
		if e.Turn == "" {
			l.childAnswered(e, d)
			return
		}
		l.inTurn(e)
	default:
		l.inTurn(e)
	}
}

// end reports the entities that have not ended.
func (l *log) end() {
	if l.Unfinished {
		return
	}
	if t := l.running; t != nil {
		l.breaks("C1", "turn %s has no terminal event", t.id)
		l.openThings(t)
	}
}

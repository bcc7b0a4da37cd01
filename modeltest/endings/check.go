package endings

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Record is one line of a log. One of Start, End and Interrupt is set: the id of the thing that
// starts, has ended or is interrupted.
type Record struct {
	Start string `json:"start,omitempty"`
	// Kind is the kind of the started thing: turn, attempt, call, approval, process, or any word.
	Kind string `json:"kind,omitempty"`
	// In is the id of the containing thing, which must end last; "" for none.
	In string `json:"in,omitempty"`

	End string `json:"end,omitempty"`
	// Cause is the reason of the end, in any words: completed, interrupted, exit 1.
	Cause string `json:"cause,omitempty"`

	Interrupt string `json:"interrupt,omitempty"`

	// At is the time of the record; without it, times are not checked.
	At time.Time `json:"at,omitzero"`
	// Line is the line that the record was read from, from 1.
	Line int `json:"-"`
}

// Violation is one place where a log breaks the promise.
type Violation struct {
	// Line is the line that breaks the promise; 0 is the end of the log.
	Line int
	What string
}

func (v Violation) String() string {
	if v.Line == 0 {
		return "at the end: " + v.What
	}
	return fmt.Sprintf("line %d: %s", v.Line, v.What)
}

// Checker has the requirements for a log.
type Checker struct {
	// Unfinished reports that a program still writes the log: a thing that is open at its end is no
	// violation.
	Unfinished bool
	// InterruptBound, if set, is the maximum time from an interrupt to the end of the
	// interrupted entity.
	InterruptBound time.Duration
}

// thing is something that started.
type thing struct {
	Record
	ended       int      // line of its end; 0 while it is open
	children    []*thing // parts of this thing, which must end before it
	interrupted time.Time
}

func (t *thing) String() string { return cmp.Or(t.Kind, "thing") + " " + t.Start }

// log is the state of a check after the lines so far.
type log struct {
	Checker
	things map[string]*thing
	order  []*thing
	found  []Violation
}

// Check returns every violation, in the order of the log.
func (c Checker) Check(records []Record) []Violation {
	l := &log{Checker: c, things: map[string]*thing{}}
	for i, r := range records {
		r.Line = cmp.Or(r.Line, i+1)
		switch {
		case r.Start != "":
			l.start(r)
		case r.End != "":
			l.end(r)
		case r.Interrupt != "":
			l.interrupt(r)
		default:
			l.breaks(r.Line, "it says neither start, end nor interrupt")
		}
	}
	if !c.Unfinished {
		for _, t := range l.order {
			if t.ended == 0 {
				l.breaks(0, "%v, which started on line %d, never ended", t, t.Line)
			}
		}
	}
	return l.found
}

func (l *log) breaks(line int, format string, args ...any) {
	l.found = append(l.found, Violation{line, fmt.Sprintf(format, args...)})
}

func (l *log) start(r Record) {
	if before := l.things[r.Start]; before != nil {
		l.breaks(r.Line, "%v started before, on line %d", before, before.Line)
		return
	}
	t := &thing{Record: r}
	l.order = append(l.order, t)
	switch parent := l.things[r.In]; {
	case r.In == "":
	case parent == nil:
		l.breaks(r.Line, "%v belongs to %s, which did not start", t, r.In)
	case parent.ended > 0:
		l.breaks(r.Line, "%v starts after the %v it belongs to ended, on line %d", t, parent, parent.ended)
	default:
		parent.children = append(parent.children, t)
	}
	l.things[r.Start] = t
}

func (l *log) end(r Record) {
	t := l.things[r.End]
	switch {
	case t == nil:
		l.breaks(r.Line, "%s ends and did not start", r.End)
		return
	case t.ended > 0:
		l.breaks(r.Line, "%v has ended before, on line %d", t, t.ended)
		return
	}
	t.ended = r.Line
	if r.Cause == "" {
		l.breaks(r.Line, "%v ends without a cause", t)
	}
	for _, child := range t.children {
		if child.ended == 0 {
			l.breaks(r.Line, "%v ends, and its %v, which started on line %d, has not", t, child, child.Line)
		}
	}
	if elapsed := r.At.Sub(t.interrupted); l.InterruptBound > 0 && !t.interrupted.IsZero() && !r.At.IsZero() &&
		elapsed > l.InterruptBound {
		l.breaks(r.Line, "%v ended %v after it was interrupted, more than %v", t, elapsed, l.InterruptBound)
	}
}

// interrupt notes the first one; later ones change nothing.
func (l *log) interrupt(r Record) {
	t := l.things[r.Interrupt]
	switch {
	case t == nil:
		l.breaks(r.Line, "%s is interrupted and did not start", r.Interrupt)
	case t.ended == 0 && t.interrupted.IsZero():
		t.interrupted = r.At
	}
}

// Ended returns how often each cause ended a thing of that kind, as "cause: n",
// sorted: a summary for people.
func Ended(records []Record, kind string) []string {
	kinds, count := map[string]string{}, map[string]int{}
	for _, r := range records {
		if r.Start != "" {
			kinds[r.Start] = r.Kind
		}
		if r.End != "" && kinds[r.End] == kind {
			count[r.Cause]++
		}
	}
	var out []string
	for cause, n := range count {
		out = append(out, fmt.Sprintf("%s: %d", cmp.Or(cause, "no cause"), n))
	}
	slices.Sort(out)
	return out
}

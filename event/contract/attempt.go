package contract

import (
	"slices"

	"github.com/settle-agent/settle/event"
)

// attempt is one model request and its response.
type attempt struct {
	id      string
	step, n int
	outcome event.Outcome // "" while it runs
	retries bool          // it announced another attempt
	items   []*item       // as they started
	purpose event.Purpose // of a summary
}

func (l *log) attemptStarted(t *turn, e event.Event, d event.AttemptStarted) {
	if t.current != nil {
		l.breaks("C2", "attempt %s is running", t.current.id)
	}
	if e.Attempt == "" || t.attempts[e.Attempt] != nil {
		l.breaks("C2", "%q is not a new attempt's id", e.Attempt)
	}
	if t.digest != nil && t.digest.outcome == event.Aborted {
		l.breaks("C11", "attempt %s was aborted, and the turn continues", t.digest.id)
	}
	if t.covered || t.interrupted {
		l.breaks("C10", "turn %s was interrupted before", t.id)
	}
	l.counted(t, d)
	l.passed(t, d.Inputs)
	for _, id := range d.Inputs {
		l.take("C19", id)
	}
	if t.purpose != "" && d.Purpose == "" {
		l.breaks("C18", "turn %s is for a %s and requests an answer", t.id, t.purpose)
	}
	if d.Purpose == "" {
		t.unsent = ""
	}
	a := &attempt{id: e.Attempt, step: d.Step, n: d.N, purpose: d.Purpose}
	t.attempts[e.Attempt] = a
	t.current = a
	t.summary.Attempts++
}

// counted: C13, every retry is announced and counted, and failures are bounded; C11,
// an abort ends the turn without a retry. Requests for a summary have their own count:
// they come before a step, and the turn continues without a summary.
func (l *log) counted(t *turn, d event.AttemptStarted) {
	step, n := 1, 1
	if d.Purpose != "" {
		step = d.Step
		if before := t.digest; before != nil && before.retries {
			step, n = before.step, before.n+1
		}
	} else if before := t.latest; before != nil {
		switch before.outcome {
		case event.Completed:
			step = before.step + 1
		case event.Failed:
			step, n = before.step, before.n+1
			if !before.retries {
				l.breaks("C13", "attempt %s did not announce another attempt", before.id)
			}
		case event.Aborted:
			l.breaks("C11", "attempt %s was aborted, and the turn continues", before.id)
			return
		}
	}
	if d.Step != step || d.N != n {
		l.breaks("C13", "it is number %d of step %d, and should be number %d of step %d", d.N, d.Step, n, step)
	}
	if t.failures >= maxFailures {
		l.breaks("C13", "turn %s has %d failed attempts in a row already", t.id, t.failures)
	}
}

func (l *log) attemptEnded(t *turn, e event.Event, d event.AttemptEnded) {
	a := t.current
	if a == nil || a.id != e.Attempt {
		l.breaks("C2", "attempt %q is not running", e.Attempt)
		return
	}
	a.outcome, a.retries = d.Outcome, d.RetryIn != nil
	t.current = nil
	if a.purpose == "" {
		t.latest = a
	} else {
		t.digest = a
	}
	t.summary.Add(d)
	switch d.Outcome {
	case event.Completed:
		if a.purpose == "" {
			t.summary.Steps++
		}
		t.failures = 0
	case event.Failed:
		t.failures++
		l.failure(d.Failure)
		l.discarded(a, d.Discarded)
	case event.Aborted:
		if d.Reason == "" {
			l.breaks("C14", "it was aborted and gives no reason")
		}
	default:
		l.breaks("C2", "%q is no outcome", d.Outcome)
	}
	if a.retries && d.Outcome != event.Failed {
		l.breaks("C13", "it announces a retry, and has not failed")
	}
	for _, i := range a.items {
		if !i.ended && !i.ready {
			l.breaks("C2", "item %s is open", i.id)
		}
	}
	l.discard(t, a, d.Discarded)
}

// discard: C5, a later attempt cannot repeat a started call.
func (l *log) discard(t *turn, a *attempt, ids []string) {
	for _, id := range ids {
		i := t.items[id]
		switch {
		case i == nil || !slices.Contains(a.items, i):
			l.breaks("C13", "item %s is discarded and does not belong to attempt %s", id, a.id)
		case i.started:
			l.breaks("C5", "call %s started and is discarded: it would run again", id)
		case !i.ended:
			l.breaks("C5", "item %s is discarded and open", id)
		}
		if i != nil {
			i.discarded = true
		}
	}
}

// discarded: C13, the text of a turn is sent once. A failed attempt keeps only its
// complete items up to the last call that started.
func (l *log) discarded(a *attempt, ids []string) {
	last := -1
	for n, i := range a.items {
		if i.started {
			last = n
		}
	}
	for n, i := range a.items {
		complete := i.started || i.ready || i.ended && i.status != event.ItemAborted
		kept := n <= last && complete
		if kept == slices.Contains(ids, i.id) && !i.started { // C5 covers started items
			if kept {
				l.breaks("C13", "item %s is discarded, though a call after it started", i.id)
			} else {
				l.breaks("C13", "item %s is kept, though a later attempt repeats it", i.id)
			}
		}
	}
}

package run

import (
	"slices"
	"testing"

	"github.com/settle-agent/settle/event"
)

// A call that can be allowed only once has no answer for the session, also if it is typed.
func TestChoicesOfSingleCall(t *testing.T) {
	s, _ := drawing(t, 80)
	q := question{person: &person{view: s}, request: event.ApprovalRequested{Once: true}}
	if got := q.choices(); slices.Contains(got, "s: allow for the session") || len(got) != 3 {
		t.Errorf("the choices are %q", got)
	}
	if answer, done := q.take("s"); done {
		t.Errorf("s answers with %+v", answer)
	}
	q.request.Once = false
	if got := q.choices(); !slices.Contains(got, "s: allow for the session") {
		t.Errorf("the choices are %q", got)
	}
	if answer, done := q.take("s"); !done || answer.Verdict != event.ApprovedSession {
		t.Errorf("s answers with %+v", answer)
	}
}

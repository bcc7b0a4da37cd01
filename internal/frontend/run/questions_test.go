package run

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
)

// A call that can be allowed only once has no answer for the session, also if it is typed.
func TestChoicesOfSingleCall(t *testing.T) {
	s, _ := drawing(t, 80)
	q := question{person: &person{view: s}, request: event.ApprovalRequested{Once: true}}
	if got := q.choices(); slices.Contains(got, "2 allow for the session (s)") || len(got) != 5 {
		t.Errorf("the choices are %q", got)
	}
	if answer, done := q.take("s"); done {
		t.Errorf("s answers with %+v", answer)
	}
	q.request.Once = false
	if got := q.choices(); !slices.Contains(got, "2 allow for the session (s)") {
		t.Errorf("the choices are %q", got)
	}
	if answer, done := q.take("s"); !done || answer.Verdict != event.ApprovedSession {
		t.Errorf("s answers with %+v", answer)
	}
}

// Numbers and letters are those of the terminal, and the answer that needs words asks for them.
func TestAnswerLines(t *testing.T) {
	for lines, want := range map[string]asker.Answer{
		"1": {Verdict: event.Approved}, "3": {Verdict: event.Denied}, "no": {Verdict: event.Denied},
		"i|use git": {Verdict: event.Denied, Message: "use git"},
		"4 use git": {Verdict: event.Denied, Message: "use git"},
		"i||5":      {Verdict: event.Denied, Explain: true}, "what?|6": {Verdict: event.ApprovalAborted},
	} {
		s, _ := drawing(t, 80)
		q := question{person: &person{view: s}}
		var answer asker.Answer
		var done bool
		for line := range strings.SplitSeq(lines, "|") {
			if done {
				t.Errorf("%q: answered before %q", lines, line)
			}
			answer, done = q.take(line)
		}
		if diff := cmp.Diff(want, answer); !done || diff != "" {
			t.Errorf("%q: done %t (-want +got):\n%s", lines, done, diff)
		}
	}
}

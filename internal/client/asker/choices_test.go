package asker_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/tool/plan"
)

// "No" has the same number in each question, also if an answer before it is not offered.
func TestChoicesHaveStableNumbers(t *testing.T) {
	for name, tt := range map[string]struct {
		question event.ApprovalRequested
		want     string
	}{
		"call": {event.ApprovalRequested{}, "1 allow once (y)\n2 allow for the session (s)\n3 deny (n)\n" +
			"4 deny, and say what to do instead (i)\n5 deny for now, explain the effects (e)\n6 stop the turn"},
		"single call": {event.ApprovalRequested{Once: true}, "1 allow once (y)\n3 deny (n)\n" +
			"4 deny, and say what to do instead (i)\n5 deny for now, explain the effects (e)\n6 stop the turn"},
		"form": {
			event.ApprovalRequested{Form: &event.Form{}}, "1 fill it in (y)\n3 decline (n)\n6 stop the turn",
		},
		"plan": {event.ApprovalRequested{Tool: plan.ProposeName}, "1 accept the plan, and ask before changes (y)\n" +
			"2 accept the plan and all edits (s)\n3 reject the plan (n)\n4 say what to change (i)\n" +
			"5 accept the plan and every call (a)\n6 stop the turn"},
	} {
		var lines []string
		for _, c := range asker.Choices(tt.question, true) {
			lines = append(lines, c.String())
		}
		if diff := cmp.Diff(tt.want, strings.Join(lines, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Numbers, letters and words name the same answers. A mistyped line names none.
func TestChoose(t *testing.T) {
	for line, want := range map[string]asker.Answer{
		"1": {Verdict: event.Approved}, " Y ": {Verdict: event.Approved}, "yes": {Verdict: event.Approved},
		"2": {Verdict: event.ApprovedSession}, "session": {Verdict: event.ApprovedSession},
		"3": {Verdict: event.Denied}, "no": {Verdict: event.Denied}, "n": {Verdict: event.Denied},
		"3 use git":              {Verdict: event.Denied, Message: "use git"},
		"i use git":              {Verdict: event.Denied, Message: "use git"},
		"No test may be deleted": {Verdict: event.Denied, Message: "No test may be deleted"}, "I think not": {},
		"5": {Verdict: event.Denied, Explain: true}, "e": {Verdict: event.Denied, Explain: true},
		"6": {Verdict: event.ApprovalAborted},
		"":  {}, "7": {}, "yes please": {}, "1 2": {}, "12": {}, "hello": {},
	} {
		choice, words, ok := asker.Choose(asker.Choices(event.ApprovalRequested{}, true), line)
		if got := choice.Answer(words); ok != (want.Verdict != "") || ok && cmp.Diff(want, got) != "" {
			t.Errorf("%q: %+v, %t, want %+v", line, got, ok, want)
		}
	}
	once := asker.Choices(event.ApprovalRequested{Once: true}, true)
	for _, line := range []string{"2", "s", "session"} {
		if choice, _, ok := asker.Choose(once, line); ok {
			t.Errorf("%q of a single call: %v", line, choice)
		}
	}
	form := asker.Choices(event.ApprovalRequested{Form: &event.Form{}}, false)
	if choice, _, ok := asker.Choose(form, "n not now"); ok {
		t.Errorf("a form takes words: %v", choice)
	}
}

package claude

import (
	"encoding/json"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/plan"
)

// A reviewer allows nothing about which a hook of the client is asked.
func TestHookedCallIsNotReviewed(t *testing.T) {
	var h hooks
	h.set(map[string][]matcher{beforeUse: {{Matcher: "Write", Callbacks: []string{"c1"}}}})
	for name, review := range map[string]bool{"write": false, "read": true} {
		call := settle.Approval{Item: "i1", Tool: tool.Spec{Name: name}, Arguments: `{"path":"a"}`}
		if j := h.reviewed(call, settle.Judgement{Decision: settle.Ask, Review: true}); j.Review != review {
			t.Errorf("%s: %+v", name, j)
		}
	}
}

// The strictest decision of several hooks counts; a hook that fails has no decision, unless it was
// registered to block then.
func TestWhatHooksSay(t *testing.T) {
	decides := func(decision, reason string) string {
		return `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"` + decision + `","permissionDecisionReason":"` + reason + `"}}`
	}
	for name, c := range map[string]struct {
		answers          []string
		onFailure        string
		decision, reason string
	}{
		"nothing":             {[]string{`{}`, ``}, "", "", ""},
		"allow":               {[]string{`{}`, decides("allow", "fine")}, "", "allow", "fine"},
		"deny beats allow":    {[]string{decides("deny", "no"), decides("allow", "fine")}, "", "deny", "no"},
		"ask beats allow":     {[]string{decides("allow", "fine"), decides("ask", "who knows")}, "", "ask", "who knows"},
		"the older words":     {[]string{`{"decision":"approve"}`, `{"decision":"block","reason":"old"}`}, "", "deny", "old"},
		"stop":                {[]string{decides("deny", "no"), `{"continue":false,"stopReason":"enough"}`}, "", "stop", "enough"},
		"failure":             {[]string{`[]`}, "", "", ""},
		"failure that blocks": {[]string{`[]`}, "block", "deny", "a hook failed: its answer could not be read"},
		"defer":               {[]string{decides("defer", "later")}, "", "", ""},
	} {
		var w verdict
		for _, answer := range c.answers {
			w.hear(matcher{OnFailure: c.onFailure}, json.RawMessage(answer), nil)
		}
		if w.decision != c.decision || w.reason != c.reason {
			t.Errorf("%s: %q, %q, want %q, %q", name, w.decision, w.reason, c.decision, c.reason)
		}
	}
}

// Hooks can deny a plan, and cannot accept or edit one.
func TestHooksAcceptNoPlan(t *testing.T) {
	c := toolCall{alias: alias{settle: plan.ProposeName}, input: map[string]any{"plan": "a"}}
	for decision, want := range map[string]bool{"allow": false, "ask": false, "": false, "deny": true, "stop": true} {
		answer, decided := (&driver{}).hooked(
			c, settle.Judgement{Decision: settle.Ask},
			verdict{decision: decision, input: map[string]any{"plan": "b"}}, "",
		)
		if decided != want || answer.Verdict == event.Approved {
			t.Errorf("%q: %v, %+v", decision, decided, answer)
		}
	}
}

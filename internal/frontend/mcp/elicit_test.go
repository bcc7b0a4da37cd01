package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model/script"
)

// touching is a model that makes a file and then says so.
func touching() []script.Step {
	return []script.Step{script.Turn(script.Call("shell", `{"command":"touch made"}`)), script.Text("done")}
}

func made(b *peer) bool {
	_, err := os.Stat(filepath.Join(b.dir, "made"))
	return err == nil
}

// question waits for an elicitation.
func (b *peer) question() message {
	b.t.Helper()
	return b.find("question", func(m message) bool { return m.Method == "elicitation/create" })
}

func TestElicitation(t *testing.T) {
	for name, c := range map[string]struct {
		answer  map[string]any
		made    bool
		verdict event.Verdict
		outcome string
	}{
		"accept":  {map[string]any{"action": "accept", "content": map[string]any{"decision": "allow"}}, true, event.Approved, "completed"},
		"plain":   {map[string]any{"action": "accept"}, true, event.Approved, "completed"},
		"session": {map[string]any{"action": "accept", "content": map[string]any{"decision": "allow_session"}}, true, event.ApprovedSession, "completed"},
		"deny":    {map[string]any{"action": "accept", "content": map[string]any{"decision": "deny", "message": "not now"}}, false, event.Denied, "completed"},
		"decline": {map[string]any{"action": "decline"}, false, event.Denied, "completed"},
		"cancel":  {map[string]any{"action": "cancel"}, false, event.Denied, "completed"},
		"stop":    {map[string]any{"action": "accept", "content": map[string]any{"decision": "stop"}}, false, event.ApprovalAborted, "aborted"},
		"other":   {map[string]any{"action": "accept", "content": map[string]any{"decision": "perhaps"}}, false, event.Denied, "completed"},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "", touching()...)
			b.initialize("elicitation")
			b.call(1, "run", map[string]any{"prompt": "one"})
			q := b.question()
			if !strings.Contains(string(q.Params), "touch made") ||
				!strings.Contains(string(q.Params), "requestedSchema") {
				t.Errorf("the question is %s", q.Params)
			}
			b.send(map[string]any{"id": q.ID, "result": c.answer})
			out := b.outcome(1)
			if out.Outcome != c.outcome || made(b) != c.made {
				t.Errorf("the answer is %+v; made: %v", out, made(b))
			}
			turn := b.hosts.Get(out.Session).State().Turns[0]
			if got := turn.Approvals[0]; got.Ended.Verdict != c.verdict || got.EndedBy != "tester" {
				t.Errorf("the approval ended with %+v by %s", got.Ended, got.EndedBy)
			}
		})
	}
}

// C16: where the client cannot be asked, the policy answers and is named.
func TestPolicy(t *testing.T) {
	for name, c := range map[string]struct {
		configured string
		requested  string // with the call
		made       bool
		policy     string
	}{
		"nobody": {"", "", false, "ask"}, "ask": {"ask", "", false, "ask"}, "deny": {"deny", "", false, "default"}, "allow": {"allow", "", true, ""},
		"stricter": {"allow", "deny", false, "default"},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, c.configured, touching()...)
			if c.policy == "default" {
				b.initialize("elicitation") // and yet it is not asked
			} else {
				b.initialize()
			}
			arguments := map[string]any{"prompt": "one"}
			if c.requested != "" {
				arguments["permission"] = c.requested
			}
			b.call(1, "run", arguments)
			out := b.outcome(1)
			if out.Outcome != "completed" || made(b) != c.made || (out.Denied == 0) != c.made {
				t.Errorf("the answer is %+v; made: %v", out, made(b))
			}
			for _, m := range b.heard() {
				if m.Method == "elicitation/create" {
					t.Errorf("the client was asked: %s", m.Params)
				}
			}
			for _, a := range b.hosts.Get(out.Session).State().Turns[0].Approvals {
				if !strings.HasPrefix(a.Ended.Policy, c.policy) || c.policy == "" {
					t.Errorf("the approval ended with %+v", a.Ended)
				}
			}
		})
	}
	b := start(t, "ask")
	b.initialize()
	b.call(1, "run", map[string]any{"prompt": "one", "permission": "allow"})
	if out := b.outcome(1); !out.isError || !strings.Contains(out.text, "stricter") {
		t.Errorf("a looser policy was answered %+v", out)
	}
}

// C16: an approval ends with its turn, and the client learns that its answer is no longer needed. A
// late answer runs nothing.
func TestElicitationDiesWithItsTurn(t *testing.T) {
	b := start(t, "", touching()...)
	b.initialize("elicitation")
	b.call(1, "run", map[string]any{"prompt": "one"})
	q := b.question()
	b.call(2, "interrupt", nil)
	if out := b.outcome(2); out.AbortReason != "interrupted" {
		t.Errorf("the interrupt was answered %+v", out)
	}
	b.find("cancellation", func(m message) bool {
		var p struct{ RequestID any }
		return m.Method == "notifications/cancelled" && json.Unmarshal(m.Params, &p) == nil && p.RequestID == q.ID
	})
	out := b.outcome(1)
	b.send(map[string]any{"id": q.ID, "result": map[string]any{"action": "accept"}})
	b.request(3, "ping", nil)
	b.answer(3)
	turn := b.hosts.Get(out.Session).State().Turns[0]
	if turn.Approvals[0].Ended.Verdict != event.Expired || made(b) {
		t.Errorf("the approval ended with %+v", turn.Approvals[0].Ended)
	}
}

// A client that cannot answer denies.
func TestElicitationFails(t *testing.T) {
	b := start(t, "", touching()...)
	b.initialize("elicitation")
	b.call(1, "run", map[string]any{"prompt": "one"})
	q := b.question()
	b.send(map[string]any{"id": q.ID, "error": map[string]any{"code": -32603, "message": "no screen"}})
	out := b.outcome(1)
	a := b.hosts.Get(out.Session).State().Turns[0].Approvals[0].Ended
	if made(b) || a.Verdict != event.Denied || a.Policy != "ask" || !strings.Contains(a.Message, "no screen") {
		t.Errorf("the approval ended with %+v", a)
	}
}

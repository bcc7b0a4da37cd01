package mcp_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/asker/askertest"
	"github.com/settle-agent/settle/model/script"
)

// A client of the older interface can only tighten what the user configured: at
// the beginning of a conversation, and with a later turn.
func TestConversationWithinTheUsersPermission(t *testing.T) {
	for _, c := range askertest.Ceilings() {
		for name, later := range map[string]bool{"first": false, "later": true} {
			t.Run(c.User+" "+name, func(t *testing.T) {
				b := start(t, c.User, script.Turn(script.Call("shell", askertest.Touch)), script.Text("done"))
				b.initialize()
				wide := map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access"}
				if later {
					wide = map[string]any{}
				}
				id := converse(b, wide)
				b.request(1, "sendUserTurn", map[string]any{
					"conversationId": id, "items": []any{map[string]any{"type": "text", "data": map[string]any{"text": "go"}}}, "cwd": b.dir,
					"approvalPolicy": "never", "sandboxPolicy": map[string]any{"mode": "danger-full-access"}, "model": "scripted", "effort": "", "summary": "auto",
				})
				asked := 0
				if c.Asked {
					asked++
					q := b.find("question", func(m message) bool { return strings.HasSuffix(m.Method, "Approval") })
					b.send(map[string]any{"id": q.ID, "result": map[string]any{"decision": "denied"}})
				}
				b.event("task_complete")
				for _, m := range b.heard() {
					if strings.HasSuffix(m.Method, "Approval") && !c.Asked {
						asked++
					}
				}
				c.Check(t, b.dir, asked)
			})
		}
	}
}

// The same of the tool.
func TestRunWithinTheUsersPermission(t *testing.T) {
	for _, c := range askertest.Ceilings() {
		b := start(t, c.User, script.Turn(script.Call("shell", askertest.Touch)), script.Text("done"))
		b.initialize()
		b.call(1, "run", map[string]any{"prompt": "go", "permission": "allow"})
		answer := string(b.answer(1).Result)
		if refused := strings.Contains(answer, "is not to be had"); refused == (c.User == "allow") {
			t.Errorf("with %q: %s", c.User, answer)
		}
	}
}

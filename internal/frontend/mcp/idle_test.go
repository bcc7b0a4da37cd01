package mcp_test

import (
	"fmt"
	"testing"

	"github.com/settle-agent/settle/model/script"
)

// Idle sessions are closed, the first one first, and opened again at the next reply.
func TestIdleSessions(t *testing.T) {
	b := start(t, "")
	b.model.Otherwise(script.Text("ok"))
	b.initialize()
	first := ""
	for n := range 40 {
		id := fmt.Sprint("r", n)
		b.call(id, "run", map[string]any{"prompt": "one"})
		if out := b.outcome(id); n == 0 {
			first = out.Session
		}
	}
	b.call("last", "sessions", nil)
	b.outcome("last")
	if n := len(b.hosts.All()); n > 35 || b.hosts.Get(first) != nil {
		t.Errorf("%d sessions are open; the first: %v", n, b.hosts.Get(first))
	}
	b.call("again", "reply", map[string]any{"session": first, "prompt": "two"})
	if out := b.outcome("again"); out.Answer != "ok" {
		t.Errorf("the reply was answered %+v", out)
	}
}

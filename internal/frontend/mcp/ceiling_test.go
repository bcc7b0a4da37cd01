package mcp_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/asker/askertest"
	"github.com/settle-agent/settle/model/script"
)

// A client cannot have more than the user configured.
func TestRunWithinTheUsersPermission(t *testing.T) {
	for _, c := range askertest.Ceilings() {
		b := start(t, c.User, script.Turn(script.Call("shell", askertest.Touch)), script.Text("done"))
		b.initialize()
		b.call(1, "run", map[string]any{"prompt": "go", "permission": "allow"})
		answer := string(b.answer(1).Result)
		if refused := strings.Contains(answer, "can only choose a stricter one"); refused == (c.User == "allow") {
			t.Errorf("with %q: %s", c.User, answer)
		}
	}
}

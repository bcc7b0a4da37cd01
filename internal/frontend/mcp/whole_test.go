package mcp_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker/askertest"
	"github.com/settle-agent/settle/model/script"
)

// An elicitation shows the whole call, or the call is refused.
func TestElicitationIsWhole(t *testing.T) {
	for _, c := range askertest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			b := start(t, "", script.Turn(script.Call(c.Tool, c.Arguments)), script.Text("done"))
			askertest.Prepare(t, b.dir)
			b.initialize("elicitation")
			b.call(1, "run", map[string]any{"prompt": "go"})
			if !c.Refused {
				q := b.question()
				c.Check(t, q.Params)
				b.send(map[string]any{"id": q.ID, "result": map[string]any{"action": "decline"}})
			}
			out := b.outcome(1)
			wantRefusal(t, c, b.hosts.Get(out.Session).State())
		})
	}
}

func wantRefusal(t *testing.T, c askertest.Case, st event.State) {
	t.Helper()
	ended := st.Turns[0].Approvals[0].Ended
	if ended == nil || ended.Verdict != event.Denied ||
		c.Refused != strings.Contains(ended.Message, "too long to be shown whole") {
		t.Errorf("the approval ended with %+v", ended)
	}
}

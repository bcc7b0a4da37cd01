package appserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/asker/askertest"
	"github.com/settle-agent/settle/model/script"
)

// A question shows the whole call, or the call is refused.
func TestApprovalIsWhole(t *testing.T) {
	for _, test := range askertest.Cases() {
		t.Run(test.Name, func(t *testing.T) {
			c := start(t, script.New(script.Call(test.Tool, test.Arguments), script.Text("Done.")))
			askertest.Prepare(t, c.Dir)
			c.answer("decline")
			c.turn(c.thread(map[string]any{"approvalPolicy": "untrusted"}), "go")
			c.Seen(`"method":"turn/completed"`, 1)
			asked := 0
			for _, line := range c.Lines() {
				var m struct {
					Method string
					Params json.RawMessage
				}
				if json.Unmarshal([]byte(line), &m) == nil && strings.HasSuffix(m.Method, "/requestApproval") {
					asked++
					test.Check(t, m.Params)
				}
			}
			if (asked == 0) != test.Refused {
				t.Errorf("it was asked %d times", asked)
			}
		})
	}
}

package acp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/asker/askertest"
	"github.com/settle-agent/settle/model/script"
)

// A question shows the whole call, or the call is refused.
func TestPermissionIsWhole(t *testing.T) {
	for _, c := range askertest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			client := start(t, script.New(script.Call(c.Tool, c.Arguments), script.Text("done")))
			askertest.Prepare(t, client.Dir)
			asked := 0
			client.Answer("session/request_permission", func(params json.RawMessage) (any, error) {
				asked++
				c.Check(t, params)
				return object{"outcome": object{"outcome": "selected", "optionId": "reject"}}, nil
			})
			if got := wait(client, client.prompt(client.open(), "go")); got != "end_turn" || (asked == 0) != c.Refused {
				t.Errorf("ended with %q, asked %d times", got, asked)
			}
			requests := client.model.Requests()
			if said := fmt.Sprintf("%+v", requests[len(requests)-1]); strings.Contains(
				said, "too long to be shown whole",
			) != c.Refused {
				t.Errorf("the model is told %.500s", said)
			}
		})
	}
}

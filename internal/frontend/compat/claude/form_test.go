package claude

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/model/script"
)

// A server's form goes to the client's callback.
func TestForms(t *testing.T) {
	for answer, want := range map[string]string{
		`{"action":"accept","content":{"name":"users"}}`: `"name":"users"`,
		`{"action":"decline"}`:                           `"action":"decline"`,
	} {
		s := serve(
			t,
			func(o *Config) { clienttest.Inquirer(t, o.Dir) },
			script.Turn(script.Call("tool_call", clienttest.Inquire)),
			script.Text("done"),
		)
		s.say(user("go", "00000000-0000-4000-8000-000000000001"))
		var story strings.Builder
		asked := 0
		for over := false; !over; {
			m := <-s.output
			raw, _ := json.Marshal(m)
			story.Write(raw)
			switch m["type"] {
			case "control_request":
				asked++
				for _, part := range []string{`"subtype":"elicitation"`, `"mcp_server_name":"db"`, `"message":"Which table?"`, `"mode":"form"`, `"requested_schema":{`} {
					if !strings.Contains(string(raw), part) {
						t.Errorf("%s is not in %s", part, raw)
					}
				}
				s.say(
					fmt.Sprintf(
						`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`,
						m["request_id"], answer,
					),
				)
			case "result", nil:
				over = true
			}
		}
		if asked != 1 || !strings.Contains(strings.ReplaceAll(story.String(), `\`, ""), want) {
			t.Errorf("asked %d times; want %s in\n%s", asked, want, story.String())
		}
	}
}

package claude

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/settle-agent/settle/internal/client/asker/askertest"
	"github.com/settle-agent/settle/model/script"
)

// A question shows the whole call, or the call is refused.
func TestPermissionIsWhole(t *testing.T) {
	for _, c := range askertest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			s := serve(t, func(o *Config) {
				o.Asks = true
				askertest.Prepare(t, o.Dir)
			}, script.Call(c.Tool, c.Arguments), script.Text("done"))
			s.say(user("go", "00000000-0000-4000-8000-000000000001"))
			if !c.Refused {
				asked := s.next("control_request")
				raw, err := json.Marshal(asked)
				if err != nil {
					t.Fatal(err)
				}
				c.Check(t, raw)
				s.say(
					fmt.Sprintf(
						`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"behavior":"deny","message":"no"}}}`,
						asked["request_id"],
					),
				)
			}
			for _, m := range s.until("result") {
				if c.Refused && m["type"] == "control_request" {
					t.Errorf("it was asked: %.500v", m)
				}
			}
		})
	}
}

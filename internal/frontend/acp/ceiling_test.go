package acp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/asker/askertest"
	"github.com/settle-agent/settle/model/script"
)

// A client can only tighten the user's configuration.
func TestModeWithinTheUsersPermission(t *testing.T) {
	for _, c := range askertest.Ceilings() {
		t.Run(c.User, func(t *testing.T) {
			client := start(t, script.New(script.Call("shell", askertest.Touch), script.Text("done")))
			c.Configure(t, client.Dir)
			asked := 0
			client.Answer("session/request_permission", func(json.RawMessage) (any, error) {
				asked++
				return object{"outcome": object{"outcome": "selected", "optionId": "reject"}}, nil
			})
			made := client.Must("session/new", object{"cwd": client.Dir, "mcpServers": []any{}})
			id := made["sessionId"].(string)
			if offered := strings.Contains(fmt.Sprint(made["modes"]), "Allows every call"); offered != c.Runs {
				t.Errorf("the modes are %v", made["modes"])
			}
			wide := object{"sessionId": id, "modeId": "allow"}
			if c.Runs {
				client.Must("session/set_mode", wide)
			} else if said := client.Refused(-32602, "session/set_mode", wide); !strings.Contains(said, "stricter") {
				t.Errorf("it is refused with %q", said)
			}
			wait(client, client.prompt(id, "go"))
			c.Check(t, client.Dir, asked)
		})
	}
}

package acp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/model/script"
)

// A server's form goes to clients that take forms; for others it is declined.
func TestForms(t *testing.T) {
	form := object{"form": object{}}
	tests := map[string]struct {
		can    object
		answer object
		want   string
		asked  int
	}{
		"filled in": {form, object{"action": "accept", "content": object{"name": "users"}}, `"name":"users"`, 1},
		"misfit":    {form, object{"action": "accept", "content": object{"name": 1}}, `"action":"decline"`, 1},
		"declined":  {form, object{"action": "decline"}, `"action":"decline"`, 1},
		"no forms":  {object{"url": object{}}, nil, `"action":"decline"`, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := clienttest.NewPlace(t)
			clienttest.Inquirer(t, p.Dir)
			c := startIn(t, script.New(script.Turn(script.Call("tool_call", clienttest.Inquire)), script.Text("done")), p)
			c.Must("initialize", object{"protocolVersion": 1, "clientCapabilities": object{"elicitation": test.can}})
			asked := make(chan string, 10)
			c.Answer("elicitation/create", func(params json.RawMessage) (any, error) {
				asked <- string(params)
				return test.answer, nil
			})
			if got := wait(c, c.prompt(c.open(), "go")); got != "end_turn" {
				t.Errorf("ended with %q", got)
			}
			if len(asked) != test.asked {
				t.Errorf("asked %d times, want %d", len(asked), test.asked)
			} else if test.asked > 0 {
				said := <-asked
				for _, part := range []string{`"mode":"form"`, `"requestedSchema":{`, "Which table?", `"sessionId":`, `"toolCallId":`} {
					if !strings.Contains(said, part) {
						t.Errorf("%s is not in %s", part, said)
					}
				}
			}
			if story := strings.Join(c.Lines(), "\n"); !strings.Contains(strings.ReplaceAll(story, `\`, ""), test.want) {
				t.Errorf("the server was not given %s:\n%s", test.want, story)
			}
		})
	}
}

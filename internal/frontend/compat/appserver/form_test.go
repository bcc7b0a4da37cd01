package appserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/model/script"
)

// A server's form goes to the client as Codex sends it.
func TestForms(t *testing.T) {
	c := start(
		t,
		script.New(script.Turn(script.Call("tool_call", clienttest.Inquire)), script.Text("done")),
		func(o *Options) { clienttest.Inquirer(t, o.Dir) },
	)
	asked := make(chan string, 10)
	c.Answer("mcpServer/elicitation/request", func(params json.RawMessage) (any, error) {
		asked <- string(params)
		return map[string]any{"action": "accept", "content": map[string]any{"name": "users"}, "_meta": nil}, nil
	})
	c.turn(c.thread(), "go")
	c.Seen("turn/completed", 1)
	if len(asked) != 1 {
		t.Fatalf("asked %d times", len(asked))
	}
	said := <-asked
	for _, part := range []string{`"mode":"form"`, `"requestedSchema":{`, `"serverName":"db"`, `"message":"Which table?"`, `"threadId":`, `"turnId":`} {
		if !strings.Contains(said, part) {
			t.Errorf("%s is not in %s", part, said)
		}
	}
	story := strings.Join(c.Lines(), "\n")
	if !strings.Contains(strings.ReplaceAll(story, `\`, ""), `"name":"users"`) ||
		!strings.Contains(story, "serverRequest/resolved") {
		t.Errorf("the server was not given the name, or the request not resolved:\n%s", story)
	}
}

package acp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/model/script"
)

// The client receives the commands and skills that a person can call after the session's response,
// and a prompt can call one.
func TestCommands(t *testing.T) {
	m := script.New(script.Text("tidied"), script.Text("asked"))
	c := start(t, m)
	clienttest.WriteCommands(t, c.Dir)
	session := c.open()
	c.seen("available_commands_update")
	answered := false
	for _, line := range c.Lines() {
		var said struct {
			Result map[string]any
			Params struct{ Update json.RawMessage }
		}
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatal(err)
		}
		answered = answered || said.Result["sessionId"] == session
		if !strings.Contains(line, "available_commands_update") {
			continue
		}
		if !answered {
			t.Error("the update came before the answer")
		}
		want := `{"availableCommands":[{"description":"have the model write AGENTS.md from the repository","name":"init"},{"description":"Review it","name":"review"},{"description":"Tidy up","input":{"hint":"DIR"},"name":"tidy"}],"sessionUpdate":"available_commands_update"}`
		if diff := cmp.Diff(want, string(said.Params.Update)); diff != "" {
			t.Error(diff)
		}
	}
	wait(c, c.prompt(session, "/tidy src"))
	wait(c, c.prompt(session, "/unknown src"))
	for n, want := range []string{"Tidy src.", "/unknown src"} {
		input := m.Requests()[n].Input
		if said := input[len(input)-1].Text; !strings.Contains(said, want) {
			t.Errorf("the model was told %q", said)
		}
	}
	c.Must("session/close", object{"sessionId": session})
	c.Must("session/resume", object{"sessionId": session, "cwd": c.Dir, "mcpServers": []any{}})
	c.Seen("available_commands_update", 2)
	c.Must("session/close", object{"sessionId": session})
	c.Must("session/load", object{"sessionId": session, "cwd": c.Dir, "mcpServers": []any{}})
	c.Seen("available_commands_update", 3)
}

//go:build clients && linux

package clients

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest"
)

// A real server requests a form during a call. The client receives the protocol's request, and the
// server receives the filled form.
func TestACPForms(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("tool_search", `{"query":"elicitation"}`)),
		modeltest.Reply(
			modeltest.Call("tool_call", `{"name":"everything__trigger-elicitation-request","arguments":{}}`),
		),
		modeltest.Reply(
			modeltest.Call(
				"tool_call",
				`{"name":"everything__trigger-long-running-operation","arguments":{"duration":1,"steps":2}}`,
			),
		),
		modeltest.Say("done"),
	))
	p := acpStart(t, srv, nil)
	p.call(
		"initialize",
		map[string]any{
			"protocolVersion":    1,
			"clientCapabilities": map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
		},
	)
	session := p.call("session/new", map[string]any{"cwd": p.dir, "mcpServers": []any{map[string]any{
		"name": "everything", "command": filepath.Join(packages(t), "node_modules", ".bin", "mcp-server-everything"), "args": []string{"stdio"}, "env": []any{},
	}}})["sessionId"].(string)
	id := p.prompt(session, "go")
	at := p.until("form", func(line string) bool { return strings.Contains(line, `"method":"elicitation/create"`) })
	p.mu.Lock()
	line := p.lines[at]
	p.mu.Unlock()
	var m struct {
		ID     json.RawMessage
		Params struct{ Mode, Message, ToolCallID, SessionID string }
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Params.Mode != "form" || m.Params.ToolCallID == "" ||
		m.Params.SessionID != session {
		t.Errorf("%v: %s", err, line)
	}
	p.write(
		map[string]any{
			"id":     m.ID,
			"result": map[string]any{"action": "accept", "content": map[string]any{"name": "Ada Lovelace"}},
		},
	)
	a := p.stops(id, "end_turn")
	for _, part := range []string{"Ada Lovelace", "1/2", "Long running operation completed"} {
		if !strings.Contains(a.after, part) {
			t.Errorf("%q was not said", part)
		}
	}
	_ = p.in.Close()
	p.end(30*time.Second, 0)
}

package appserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/model/script"
)

// A client's servers are used as Codex's configuration defines them, and the client receives their
// states.
func TestServersOfAClient(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "sums", Version: "1"}, nil)
	type numbers struct {
		A int `json:"a"`
	}
	sdk.AddTool(
		server,
		&sdk.Tool{Name: "double"},
		func(_ context.Context, _ *sdk.CallToolRequest, in numbers) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "twice is 42"}}}, nil, nil
		},
	)
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		if r.Header.Get("X-Token") != "the-token-of-sums" {
			return nil
		}
		return server
	}, &sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close) // after the client, which has connections to it
	c := start(
		t,
		script.New(script.Call("tool_search", `{"query":"double"}`), script.Call("tool_call", `{"name":"sums__double","arguments":{"a":21}}`)).
			Otherwise(script.Text("ok")),
	)
	config := map[string]any{"mcp_servers": map[string]any{
		"sums": map[string]any{"url": web.URL, "http_headers": map[string]any{"X-Token": "the-token-of-sums"}},
		"gone": map[string]any{
			"command": "/nowhere/server",
		}, "off": map[string]any{"command": "x", "enabled": false}, "wrong": map[string]any{},
	}}
	id := c.thread(map[string]any{"config": config, "sandbox": "danger-full-access", "approvalPolicy": "never"})
	c.Seen(`"name":"gone","status":"failed"`, 1)
	c.Seen(`"name":"sums","status":"ready"`, 1)
	c.turn(id, "go")
	c.Seen(`"method":"turn/completed"`, 1)
	c.Seen("twice is 42", 1)
	list := c.Must("mcpServerStatus/list", map[string]any{"threadId": id})["data"].([]any)
	if len(list) != 2 || field(c, list[0], "runtimeStatus") != "failed" ||
		field(c, list[1], "runtimeStatus") != "connected" {
		t.Errorf("servers %v", list)
	}
	c.diff(
		"one of them", 1,
		len(c.Must("mcpServerStatus/list", map[string]any{"threadId": id, "serverName": "sums"})["data"].([]any)),
	)
	c.diff("of the user", 0, len(c.Must("mcpServerStatus/list", nil)["data"].([]any)))

	again := c.thread(map[string]any{"config": config}) // its tools are known
	list = c.Must("mcpServerStatus/list", map[string]any{"threadId": again, "serverName": "sums"})["data"].([]any)
	if len(list) != 1 || field(c, list[0], "tools.double.name") != "double" ||
		field(c, list[0], "serverInfo.name") != "sums" {
		t.Errorf("servers %v", list)
	}
	c.Seen(`"name":"sums","status":"ready"`, 2)
}

package clienttest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Inquire is a model's call of the tool of [Inquirer].
const Inquire = `{"name":"db__ask","arguments":{}}`

// Inquirer configures an MCP server for the user whose home is dir. Its tool asks for a
// name, and returns the name; its calls need no approval.
func Inquirer(t *testing.T, dir string) {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "db", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(
		_ context.Context, r *sdk.CallToolRequest, _ struct{},
	) (*sdk.CallToolResult, any, error) {
		given, ok := r.Params.InputResponses["who"].(*sdk.ElicitResult)
		if !ok {
			return &sdk.CallToolResult{InputRequests: map[string]sdk.InputRequest{"who": &sdk.ElicitParams{
				Message: "Which table?", RequestedSchema: json.RawMessage(
					`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`,
				),
			}}}, nil, nil
		}
		raw, err := json.Marshal(given)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "given " + string(raw)}}}, nil, err
	})
	site := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(func() {
		site.Close()
		for session := range s.Sessions() {
			_ = session.Close()
		}
	})
	path := filepath.Join(dir, ".config", "settle", "config.toml")
	text := "[mcp.db]\nurl = \"" + site.URL + "\"\n\n[[rules]]\ntool = \"db__*\"\ndecision = \"allow\"\n"
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

package acp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/model/script"
)

// A session has the tools of the servers that its client brings along.
func TestServersOfTheClient(t *testing.T) {
	s := sdk.NewServer(&sdk.Implementation{Name: "files", Version: "1"}, nil)
	type nothing struct{}
	sdk.AddTool(s, &sdk.Tool{Name: "count", Description: "counts files"}, func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, nothing, error) {
		return nil, nothing{}, nil
	})
	endpoint := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	var strangers atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "the-key-of-the-client" {
			strangers.Add(1)
		}
		endpoint.ServeHTTP(w, r)
	}))
	defer server.Close()
	c := start(t, script.New(script.Turn(script.Call("tool_search", `{"query":"count"}`)), script.Text("ok")))
	opened := c.Must("session/new", object{"cwd": c.Dir, "mcpServers": []any{
		object{"type": "http", "name": "files", "url": server.URL, "headers": []any{object{"name": "X-Api-Key", "value": "the-key-of-the-client"}}},
	}})
	wait(c, c.prompt(opened["sessionId"].(string), "go"))
	if story := strings.Join(c.Lines(), "\n"); !strings.Contains(story, "## files__count") {
		t.Error(story)
	}
	if n := strangers.Load(); n > 0 {
		t.Errorf("%d requests had no key", n)
	}
	c.End()
}

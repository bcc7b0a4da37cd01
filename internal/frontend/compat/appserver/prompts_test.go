package appserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/model/script"
)

// A prompt of a server is an input; while the server is asked, requests are answered,
// and an interrupt without a turn's id gives it up.
func TestPromptsOfAServer(t *testing.T) {
	asked, over := make(chan struct{}, 1), make(chan struct{})
	defer close(over)
	server := sdk.NewServer(&sdk.Implementation{Name: "docs", Version: "1"}, nil)
	server.AddPrompt(&sdk.Prompt{Name: "style", Arguments: []*sdk.PromptArgument{{Name: "lang", Required: true}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{
				Messages: []*sdk.PromptMessage{
					{Role: "user", Content: &sdk.TextContent{Text: "Write " + r.Params.Arguments["lang"] + "."}},
				},
			}, nil
		})
	server.AddPrompt(
		&sdk.Prompt{Name: "hang"},
		func(ctx context.Context, _ *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			asked <- struct{}{}
			select {
			case <-ctx.Done():
			case <-over:
			}
			return &sdk.GetPromptResult{}, nil
		},
	)
	web := httptest.NewServer(
		sdk.NewStreamableHTTPHandler(
			func(*http.Request) *sdk.Server { return server },
			&sdk.StreamableHTTPOptions{Stateless: true},
		),
	)
	t.Cleanup(web.Close) // after the client, which has connections to it
	m := script.New(script.Text("one"), script.Text("two"))
	c := start(t, m)
	id := c.thread(
		map[string]any{"config": map[string]any{"mcp_servers": map[string]any{"docs": map[string]any{"url": web.URL}}}},
	)
	c.turn(id, "/mcp__docs__style Go")
	c.Seen(`"method":"turn/completed"`, 1)
	if input := m.Requests()[0].Input; input[len(input)-1].Text != "Write Go." {
		t.Errorf("the model was told %q", input[len(input)-1].Text)
	}
	in := map[string]any{"threadId": id, "input": say("/docs__style")}
	c.refuse(-32600, "needs lang", "turn/start", in)
	in["input"] = say("/docs__hang")
	hanging := c.Send("turn/start", in)
	<-asked
	c.refuse(-32600, "another input", "turn/start", in)
	c.refuse(-32600, "no active turn", "turn/interrupt", map[string]any{"threadId": id, "turnId": "another"})
	c.refuse(-32600, "another input", "turn/start", in) // that has not given it up
	c.turn(id, "go on")
	c.Seen(`"method":"turn/completed"`, 2)
	c.Must("turn/interrupt", map[string]any{"threadId": id, "turnId": ""})
	if err := hanging.Wait(t.Context(), nil); err == nil {
		t.Error("a prompt that was given up was sent")
	}
	if n := len(m.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

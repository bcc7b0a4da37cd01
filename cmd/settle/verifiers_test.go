//go:build machine && linux

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/modeltest"
)

// The harness for verifiers runs settle acp for a rollout: its requests go to the
// endpoint that records them, with the task's system prompt, tools and sampling.
func TestVerifiers(t *testing.T) {
	t.Parallel()
	model := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			modeltest.Call("shell", `{"command":"echo made > made"}`),
		),
		modeltest.Say("Made."),
		modeltest.Say("Arr."),
	))
	tools := mcp.NewServer(&mcp.Implementation{Name: "task"}, nil)
	mcp.AddTool(
		tools,
		&mcp.Tool{Name: "submit", Description: "Submits the answer."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{}, nil, nil
		},
	)
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil))
	t.Cleanup(server.Close)
	cmd := exec.CommandContext(t.Context(), "python3", "test_settle_verifiers.py")
	cmd.Dir = "../../integrations/verifiers"
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"SCRATCH=" + t.TempDir(),
		"MODEL=" + model.OpenAI(),
		"TOOLS=" + server.URL,
	}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "ok ") != 3 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, e := range model.Exchanges() {
		body := string(e.Body)
		for _, want := range []string{`"model":"policy"`, "Be a pirate.", `"temperature":0.7`, "task__submit"} {
			if !strings.Contains(body, want) {
				t.Errorf("a request has no %s: %s", want, body)
			}
		}
		if got := e.Header.Get("Authorization"); got != "Bearer a-secret-of-the-rollout" {
			t.Errorf("a request is authorized with %q", got)
		}
	}
}

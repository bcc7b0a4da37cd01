package acp_test

import (
	"context"
	"encoding/json"
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
	sdk.AddTool(
		s,
		&sdk.Tool{Name: "count", Description: "counts files"},
		func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, nothing, error) {
			return nil, nothing{}, nil
		},
	)
	endpoint := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	var foreign atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "the-key-of-the-client" {
			foreign.Add(1)
		}
		endpoint.ServeHTTP(w, r)
	}))
	defer server.Close()
	c := start(t, script.New(script.Turn(script.Call("tool_search", `{"query":"count"}`)), script.Text("ok")))
	opened := c.Must("session/new", object{"cwd": c.Dir, "mcpServers": []any{
		object{
			"type":    "http",
			"name":    "files",
			"url":     server.URL,
			"headers": []any{object{"name": "X-Api-Key", "value": "the-key-of-the-client"}},
		},
	}})
	wait(c, c.prompt(opened["sessionId"].(string), "go"))
	if story := strings.Join(c.Lines(), "\n"); !strings.Contains(story, "## files__count") {
		t.Error(story)
	}
	if n := foreign.Load(); n > 0 {
		t.Errorf("%d requests had no key", n)
	}
	c.End()
}

// The client that names a program is asked, in its own way of asking, before the program
// starts: with the whole command line, and the names of the variables.
func TestServersOfTheClientAreAskedAbout(t *testing.T) {
	for _, answer := range []string{"allow", "reject"} {
		t.Run(answer, func(t *testing.T) {
			c := start(t, script.New(script.Turn(script.Call("tool_search", `{"query":"count"}`)), script.Text("ok")))
			var questions []string
			c.Answer("session/request_permission", func(raw json.RawMessage) (any, error) {
				questions = append(questions, string(raw))
				if c.wrote("started") {
					t.Error("it started before anybody was asked")
				}
				return object{"outcome": object{"outcome": "selected", "optionId": answer}}, nil
			})
			opened := c.Must("session/new", object{"cwd": c.Dir, "mcpServers": []any{
				object{
					"name":    "evil",
					"command": "/bin/sh",
					"args":    []any{"-c", "echo x >started; exit 3"},
					"env":     []any{object{"name": "EXTRA", "value": "the-value-of-extra"}},
				},
			}})
			wait(c, c.prompt(opened["sessionId"].(string), "go"))
			if c.wrote("started") != (answer == "allow") {
				t.Errorf("started: %v", c.wrote("started"))
			}
			if len(questions) != 1 {
				t.Fatalf("asked %q", questions)
			}
			for _, want := range []string{"evil", "/bin/sh -c 'echo x >started; exit 3'", "EXTRA"} {
				var text strings.Builder
				flat(&text, json.RawMessage(questions[0]))
				if !strings.Contains(text.String(), want) {
					t.Errorf("the question has no %q: %s", want, questions[0])
				}
			}
			if strings.Contains(questions[0], "the-value-of-extra") {
				t.Error(questions[0])
			}
		})
	}
}

// flat writes all texts of a JSON value.
func flat(b *strings.Builder, raw json.RawMessage) {
	var v any
	_ = json.Unmarshal(raw, &v)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v + "\n")
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(v)
}

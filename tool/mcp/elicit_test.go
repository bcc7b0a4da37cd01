package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/mcp"
)

// fills answers each form with the values.
func fills(values string) func(context.Context, event.Form) (json.RawMessage, error) {
	return func(context.Context, event.Form) (json.RawMessage, error) { return json.RawMessage(values), nil }
}

func TestForms(t *testing.T) {
	s := known(t, server(t, "normal"))
	var asked event.Form
	s.ask = func(_ context.Context, f event.Form) (json.RawMessage, error) {
		asked = f
		return json.RawMessage(`{"name":"Ada"}`), nil
	}
	if got := s.call("fake__form", nil); got != `{"action":"accept","content":{"name":"Ada"}}` {
		t.Errorf("the server got %s", got)
	}
	if asked.Server != "fake" || asked.Message != "Who are you?" || asked.URL != "" ||
		!strings.Contains(string(asked.Schema), `"minLength":2`) {
		t.Errorf("asked: %+v", asked)
	}
	if got := s.call("fake__form", echo("page")); got != `{"action":"accept"}` ||
		asked.URL != "https://example.com/in" {
		t.Errorf("a page: the server got %s; asked %+v", got, asked)
	}
	s.ask = fills(`{"name":"A"}`) // the answer is validated by its sender and by the protocol's implementation
	if got := s.call("fake__form", nil); !strings.Contains(got, "does not match requested schema") {
		t.Errorf("a value that does not fit: the server got %s", got)
	}
	s.ask = tool.NobodyToAsk
	if got := s.call("fake__form", nil); got != `{"action":"decline"}` {
		t.Errorf("declined: the server got %s", got)
	}
	s.ask = func(context.Context, event.Form) (json.RawMessage, error) {
		t.Error("somebody was asked to run a script")
		return nil, nil
	}
	if got := s.call("fake__form", echo("script")); got != `{"action":"decline"}` {
		t.Errorf("a script: the server got %s", got)
	}
	s.ask = fills("")
	r, err := s.run(t.Context(), "fake__page_first", nil, nil)
	if err != nil || !r.Failed || !strings.Contains(r.Output, "make it again") {
		t.Errorf("a page that is to be opened first: %+v, %v", r, err)
	}
}

// A form ends with its server, its call, or when the server withdraws it.
func TestFormsEnd(t *testing.T) {
	s := known(t, server(t, "normal"))
	began, ended := atomic.Int32{}, make(chan error, 10)
	s.ask = func(ctx context.Context, _ event.Form) (json.RawMessage, error) {
		began.Add(1)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	}
	if _, err := s.run(t.Context(), "fake__form", echo("dies"), nil); err == nil ||
		!strings.Contains(err.Error(), "ended during the call") {
		t.Errorf("a server that dies: %v", err)
	}
	if _, err := s.run(t.Context(), "fake__form", echo("takes back"), nil); err != nil {
		t.Errorf("a server that takes it back: %v", err)
	}
	if got := s.call("fake__form", echo("goes on")); got != "never mind" {
		t.Errorf("a server that goes on: %q", got)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	s.ask = func(ctx context.Context, _ event.Form) (json.RawMessage, error) {
		cancel(stop)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	// The server also receives the cancellation, and a ready result beats the interrupt.
	if r, err := s.run(ctx, "fake__form", nil, nil); err != nil || !r.Aborted &&
		!strings.Contains(r.Output, "canceled") {
		t.Errorf("an interrupt: %+v, %v", r, err)
	}
	for range began.Load() {
		<-ended // otherwise the test hangs and names the line
	}
	s.call("fake__echo", echo("still there"))
}

// A server with endless forms affects only its own call.
func TestEndlessForms(t *testing.T) {
	s := known(t, server(t, "normal"))
	var asked atomic.Int32
	s.ask = func(context.Context, event.Form) (json.RawMessage, error) {
		asked.Add(1)
		return json.RawMessage(`{"name":"Ada"}`), nil
	}
	_, err := s.run(t.Context(), "fake__form", echo("endless"), nil)
	if err == nil || !strings.Contains(err.Error(), "asked for input more than 16 times") || asked.Load() != 16 {
		t.Errorf("%v, after %d questions", err, asked.Load())
	}
	s.ask = fills(`{"name":"Ada"}`)
	s.call("fake__echo", echo("still there"))
}

// Both versions over HTTP: a request of the server, and an answer that requires input.
func TestFormsOverHTTP(t *testing.T) {
	for name, options := range map[string]*sdk.StreamableHTTPOptions{"a session": nil, "stateless": {Stateless: true}} {
		t.Run(name, func(t *testing.T) {
			server := sdk.NewServer(&sdk.Implementation{Name: "site", Version: "1"}, nil)
			sdk.AddTool(server, &sdk.Tool{Name: "ask"},
				func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
					given, ok := r.Params.InputResponses["who"].(*sdk.ElicitResult)
					if !ok {
						return &sdk.CallToolResult{InputRequests: map[string]sdk.InputRequest{"who": &sdk.ElicitParams{
							Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`),
						}}}, nil, nil
					}
					raw, err := json.Marshal(given.Content)
					return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: given.Action +
						string(raw)}}}, nil, err
				})
			site := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
				options))
			t.Cleanup(site.Close)
			s := known(t, mcp.Server{Name: "site", URL: site.URL, StartTimeout: patience, CallTimeout: patience})
			s.ask = fills(`{"name":"Ada"}`)
			if got := s.call("site__ask", nil); got != `accept{"name":"Ada"}` {
				t.Errorf("got %s", got)
			}
		})
	}
}

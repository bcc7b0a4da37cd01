//go:build !fuzzing

package anthropic_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/anthropic"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

// conversation has every kind of item.
func conversation(name string) model.Request {
	return model.Request{
		Model:  name,
		System: "You are settle.",
		Tools: []model.ToolSpec{
			{Name: "list", Description: "Lists.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
			{
				Name:        "shell",
				Description: "Runs.",
				Schema: json.RawMessage(
					`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`,
				),
			},
		},
		Input: []model.Item{
			{
				Role:   model.User,
				Text:   "Look at this.",
				Images: []model.Image{{MediaType: "image/png", Data: []byte("png")}},
			},
			{Role: model.User, Text: "And be quick."},
			{
				Role: model.Reasoning, Text: "Hm.",
				Signature: &model.ProviderSignature{Format: "signature", Data: "c2ln"},
			},
			{Role: model.Reasoning, Signature: &model.ProviderSignature{Format: "redacted", Data: "eHg="}},
			{Role: model.Reasoning, Text: "unsigned"},
			{
				Role: model.Reasoning, Text: "another's",
				Signature: &model.ProviderSignature{Format: "encrypted", Data: "zz"},
			},
			{Role: model.Assistant, Text: "I look."},
			{Role: model.Call, CallID: "toolu_1", Name: "shell", Arguments: `{"command": "ls <a> & b"}`},
			{Role: model.Call, CallID: "toolu_2", Name: "shell", Arguments: `{"comm`},
			{Role: model.Output, CallID: "toolu_1", Name: "shell", Text: "a\nb"},
			{Role: model.User, Text: "Faster."},
			{Role: model.Output, CallID: "toolu_2", Name: "shell", Failed: true},
		},
	}
}

func sent(t *testing.T, req model.Request, o transport.Endpoint) wiretest.Sent {
	t.Helper()
	server := &wiretest.Server{Body: full}
	o.Client = server.Client()
	if r, err := wiretest.Read(t.Context(), anthropic.New(anthropic.Options{Endpoint: o}), req); err != nil ||
		r.Err != nil {
		t.Fatal(err, r.Err)
	}
	return server.Sent()[0]
}

// TestRequestAgainstSDK decodes our bodies into the official SDK's types.
func TestRequestAgainstSDK(t *testing.T) {
	for _, name := range []string{"claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-4-6", "claude-haiku-4-5", "unknown"} {
		for _, effort := range []string{"", "none", "minimal", "low", "high", "max"} {
			req := conversation(name)
			req.Effort = effort
			body := sent(t, req, transport.Endpoint{}).Body
			diff, err := wiretest.RoundTrip(body, new(sdk.BetaMessageNewParams), "stream")
			if diff != "" || err != nil {
				t.Errorf("%s, effort %q: error %v (-SDK +sent):\n%s", name, effort, err, diff)
			}
		}
	}
}

func TestRequest(t *testing.T) {
	req := conversation("claude-opus-5-5")
	req.MaxTokens = 500_000
	got := sent(
		t,
		req,
		transport.Endpoint{
			Key:   transport.StaticKey("sk-ant"),
			Extra: map[string]any{"metadata": map[string]any{"user_id": "u"}},
		},
	)
	want := `{
	"model":"claude-opus-5-5","max_tokens":128000,"stream":true,"metadata":{"user_id":"u"},
	"thinking":{"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}},
	"system":[{"type":"text","text":"You are settle.","cache_control":{"type":"ephemeral"}}],
	"tools":[
		{"name":"list","description":"Lists.","input_schema":{"type":"object","properties":{}}},
		{"name":"shell","description":"Runs.","input_schema":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]},"cache_control":{"type":"ephemeral"}}],
	"messages":[
		{"role":"user","content":[
			{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}},{"type":"text","text":"Look at this."},
			{"type":"text","text":"And be quick.","cache_control":{"type":"ephemeral"}}]},
		{"role":"assistant","content":[
			{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"redacted_thinking","data":"eHg="},{"type":"text","text":"I look."},
			{"type":"tool_use","id":"toolu_1","name":"shell","input":{"command":"ls <a> & b"}},
			{"type":"tool_use","id":"toolu_2","name":"shell","input":{"invalid_json":"{\"comm"}}]},
		{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"a\nb"}]},
			{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"failed without saying why"}],"is_error":true},
			{"type":"text","text":"Faster.","cache_control":{"type":"ephemeral"}}]}]}`
	var wantValue, gotValue any
	if err := json.Unmarshal([]byte(want), &wantValue); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got.Body, &gotValue); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantValue, gotValue); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := bytes.Count(got.Body, []byte("cache_control")); n > 4 {
		t.Errorf("%d cache breakpoints, the API takes 4", n)
	}
	for name, want := range map[string]string{
		"X-Api-Key": "sk-ant", "Anthropic-Version": "2023-06-01", "Anthropic-Beta": "thinking-binding-controls-2026-08-01",
		"Authorization": "", "Content-Type": "application/json", "Accept": "text/event-stream",
	} {
		if got.Header.Get(name) != want {
			t.Errorf("header %s is %q, want %q", name, got.Header.Get(name), want)
		}
	}
	if again := sent(t, req, transport.Endpoint{Extra: map[string]any{"metadata": map[string]any{"user_id": "u"}}}); !bytes.Equal(
		again.Body, got.Body,
	) {
		t.Error("the same request gives other bytes")
	}
}

func TestThinking(t *testing.T) {
	for _, tt := range []struct{ model, effort, thinking, config string }{
		{"claude-opus-5-5", "none", `"type":"adaptive"`, `{"effort":"low"}`},
		{"claude-opus-5-5", "max", `"type":"adaptive"`, `{"effort":"max"}`},
		{"claude-sonnet-5-5", "none", `{"type":"between_tools"}`, ""},
		{"claude-haiku-5-5", "none", `{"type":"disabled"}`, ""},
		{"claude-opus-4-6", "xhigh", `{"type":"adaptive","display":"summarized"}`, `{"effort":"high"}`},
		{"claude-haiku-4-5", "", `{"type":"enabled","budget_tokens":8192}`, ""},
		{"claude-haiku-4-5", "none", "", ""},
		{"claude-haiku-4-5", "max", `{"type":"enabled","budget_tokens":31999}`, ""},
		{"unknown", "high", "", ""},
	} {
		body := sent(
			t,
			model.Request{Model: tt.model, Effort: tt.effort, Input: []model.Item{{Role: model.User, Text: "hi"}}},
			transport.Endpoint{},
		).Body
		var got map[string]json.RawMessage
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(got["thinking"]), tt.thinking) || (tt.thinking == "") != (got["thinking"] == nil) ||
			string(got["output_config"]) != tt.config {
			t.Errorf(
				"%s, effort %q: thinking %s, config %s", tt.model, tt.effort, got["thinking"], got["output_config"],
			)
		}
	}
}

func TestBudgetLeavesRoomAndChainsMustBeginWithThinking(t *testing.T) {
	req := conversation("claude-haiku-4-5")
	req.MaxTokens = 3000
	got := sent(t, req, transport.Endpoint{})
	if !bytes.Contains(got.Body, []byte(`"budget_tokens":1976`)) ||
		got.Header.Get("Anthropic-Beta") != "interleaved-thinking-2025-05-14" {
		t.Errorf("header %q, body %s", got.Header.Get("Anthropic-Beta"), got.Body)
	}
	req.MaxTokens = 1500
	if body := sent(t, req, transport.Endpoint{}).Body; bytes.Contains(body, []byte("budget_tokens")) {
		t.Errorf("no room to think: %s", body)
	}
	req.MaxTokens, req.Input = 0, append(req.Input[:2:2], req.Input[6:]...)
	if body := sent(t, req, transport.Endpoint{}).Body; bytes.Contains(body, []byte("budget_tokens")) {
		t.Errorf("the chain does not begin with thinking: %s", body)
	}
}

func TestConfiguredHeaderWins(t *testing.T) {
	got := sent(t, conversation("claude-opus-5-5"), transport.Endpoint{Header: http.Header{"anthropic-beta": {"mine"}}})
	if got.Header.Get("Anthropic-Beta") != "mine" || got.URL != "https://api.anthropic.com/v1/messages" {
		t.Errorf("beta %q, URL %s", got.Header.Get("Anthropic-Beta"), got.URL)
	}
}

func TestSchema(t *testing.T) {
	for name, effort := range map[string]string{"claude-opus-5-5": `"effort":"high",`, "claude-haiku-4-5": ""} {
		req := conversation(name)
		req.Effort, req.Schema = "high", json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)
		body := sent(t, req, transport.Endpoint{}).Body
		var got struct {
			Config json.RawMessage `json:"output_config"`
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		want := `{` + effort + `"format":{"type":"json_schema","schema":{"additionalProperties":false,"properties":{"a":{"type":"string"}},"type":"object"}}}`
		if string(got.Config) != want {
			t.Errorf("%s: output_config is %s, want %s", name, got.Config, want)
		}
		if diff, err := wiretest.RoundTrip(body, new(sdk.BetaMessageNewParams), "stream"); diff != "" || err != nil {
			t.Errorf("%s: %v (-SDK +sent):\n%s", name, err, diff)
		}
	}
}

// TestNoCalls: another tool_choice would cost the cache of the messages.
func TestNoCalls(t *testing.T) {
	req := conversation("claude-sonnet-4-5")
	plain := sent(t, req, transport.Endpoint{}).Body
	req.NoCalls = true
	if text := sent(t, req, transport.Endpoint{}).Body; !bytes.Equal(plain, text) {
		t.Errorf("a request for text differs:\n%s\n%s", plain, text)
	}
}

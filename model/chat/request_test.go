//go:build !fuzzing

package chat_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

// conversation has every kind of item.
func conversation() model.Request {
	return model.Request{
		Model: "m", System: "You are settle.", Effort: "high", CacheKey: "s1", MaxTokens: 500,
		Tools: []model.ToolSpec{
			{
				Name:        "shell",
				Description: "Runs.",
				Schema:      json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}}}`),
				Grammar:     "ignored",
			},
		},
		Input: []model.Item{
			{Role: model.User, Text: "Look."},
			{Role: model.User, Text: "Quick.", Images: []model.Image{{MediaType: "image/png", Data: []byte("png")}}},
			{
				Role: model.Reasoning, Text: "Hm.",
				Signature: &model.ProviderSignature{Format: "field", Data: "reasoning_content"},
			},
			{
				Role:      model.Reasoning,
				Text:      "x",
				Signature: &model.ProviderSignature{Format: "details", Data: `[{"type":"reasoning.encrypted","data":"a"}]`},
			},
			{
				Role:      model.Reasoning,
				Text:      "y",
				Signature: &model.ProviderSignature{Format: "details", Data: `[{"type":"reasoning.encrypted","data":"b"}]`},
			},
			{Role: model.Reasoning, Text: "unsigned"},
			{Role: model.Assistant, Text: "I look."},
			{Role: model.Call, CallID: "c1", Name: "shell", Arguments: `{"command":"ls"}`},
			{Role: model.Call, CallID: "c2", Name: "shell", Arguments: `{"comm`},
			{Role: model.Output, CallID: "c1", Name: "shell", Text: "a\nb"},
			{Role: model.Output, CallID: "c2", Name: "shell", Text: "bad", Failed: true},
			{
				Role: model.Reasoning, Text: "alone",
				Signature: &model.ProviderSignature{Format: "field", Data: "reasoning"},
			},
			{Role: model.User, Text: "Go on."},
			{Role: model.User, Text: "Now."},
			{Role: model.Call, CallID: "c3", Name: "shell", Arguments: ``},
			{Role: model.Output, CallID: "c3", Name: "shell"},
		},
	}
}

func sent(t *testing.T, req model.Request, o chat.Options) wiretest.Sent {
	t.Helper()
	server := &wiretest.Server{Body: full}
	o.Client = server.Client()
	if o.BaseURL == "" {
		o.BaseURL = "http://localhost:8000/v1/"
	}
	if r, err := wiretest.Read(t.Context(), chat.New(o), req); err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
	return server.Sent()[0]
}

func TestRequest(t *testing.T) {
	got := sent(t, conversation(), chat.Options{})
	want := `{
	"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":500,"reasoning_effort":"high",
	"tools":[{"type":"function","function":{"name":"shell","description":"Runs.","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}],
	"messages":[
		{"role":"system","content":"You are settle."},
		{"role":"user","content":[{"type":"text","text":"Look."},{"type":"text","text":"Quick."},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]},
		{"role":"assistant","content":"I look.","reasoning_content":"Hm.",
			"reasoning_details":[{"type":"reasoning.encrypted","data":"a"},{"type":"reasoning.encrypted","data":"b"}],
			"tool_calls":[{"id":"c1","type":"function","function":{"name":"shell","arguments":"{\"command\":\"ls\"}"}},
				{"id":"c2","type":"function","function":{"name":"shell","arguments":"{\"invalid_json\":\"{\\\"comm\"}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"a\nb"},
		{"role":"tool","tool_call_id":"c2","content":"bad"},
		{"role":"user","content":"Go on.\n\nNow."},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c3","type":"function","function":{"name":"shell","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c3","content":""}]}`
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
	if got.URL != "http://localhost:8000/v1/chat/completions" || got.Header.Get("Authorization") != "" {
		t.Errorf("URL %s, header %v", got.URL, got.Header)
	}
}

// TestRequestAgainstSDK decodes requests to OpenAI and to another server into the official SDK's
// types. NoReasoningBack leaves out fields for reasoning, which the SDK does not have.
func TestRequestAgainstSDK(t *testing.T) {
	for _, base := range []string{"https://api.openai.com/v1", "http://localhost/v1"} {
		body := sent(
			t,
			conversation(),
			chat.Options{Endpoint: transport.Endpoint{BaseURL: base}, NoReasoningBack: true},
		).Body
		diff, err := wiretest.RoundTrip(body, new(sdk.ChatCompletionNewParams), "stream")
		if diff != "" || err != nil {
			t.Errorf("%s: error %v (-SDK +sent):\n%s", base, err, diff)
		}
	}
}

func TestOptions(t *testing.T) {
	fields := func(o chat.Options) map[string]any {
		var body map[string]any
		if err := json.Unmarshal(sent(t, conversation(), o).Body, &body); err != nil {
			t.Fatal(err)
		}
		return body
	}
	openai := fields(chat.Options{Endpoint: transport.Endpoint{BaseURL: "https://api.openai.com/v1"}})
	if openai["max_completion_tokens"] != 500.0 || openai["max_tokens"] != nil || openai["prompt_cache_key"] != "s1" {
		t.Errorf("OpenAI gets %v", openai)
	}
	plain := fields(
		chat.Options{NoStreamUsage: true, MaxTokensField: "max_completion_tokens", Endpoint: transport.Endpoint{
			Extra: map[string]any{"reasoning_effort": nil, "top_k": 20},
		}},
	)
	if plain["stream_options"] != nil || plain["max_completion_tokens"] != 500.0 || plain["reasoning_effort"] != nil ||
		plain["top_k"] != 20.0 ||
		plain["prompt_cache_key"] != nil {
		t.Errorf("a plain server gets %v", plain)
	}
	azure := sent(t, conversation(), chat.Options{Endpoint: transport.Endpoint{
		BaseURL: "https://r.openai.azure.com/openai/deployments/d", Header: http.Header{"api-key": {"k"}}, Query: url.Values{"api-version": {"2024-10-21"}},
	}})
	if azure.URL != "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21" ||
		azure.Header.Get("Api-Key") != "k" {
		t.Errorf("Azure: %s, %v", azure.URL, azure.Header)
	}
}

func TestWindow(t *testing.T) {
	for body, want := range map[string]int{
		`{"data":[{"id":"x","max_model_len":1},{"id":"m","max_model_len":32768}]}`: 32768,
		`{"data":[{"id":"m","context_length":131072}]}`:                            131072,
		`{"data":[{"id":"m","meta":{"n_ctx":4096,"n_ctx_train":8192}}]}`:           4096,
		`{"data":[{"id":"m"}]}`: 0, `{}`: 0,
		`{"data":[{"id":"x"}]}`: -1, `nonsense`: -1,
	} {
		server := &wiretest.Server{Body: body, Header: http.Header{"Content-Type": {"application/json"}}}
		got, err := chat.Window(
			t.Context(),
			transport.Endpoint{BaseURL: "http://h/v1", Client: server.Client(), Key: transport.StaticKey("k")},
			"m",
		)
		if (err != nil) != (want < 0) || got != max(want, 0) {
			t.Errorf("%s: window %d, error %v, want %d", body, got, err, want)
		}
		if s := server.Sent()[0]; s.Method != http.MethodGet || s.URL != "http://h/v1/models" ||
			s.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("request %+v", s)
		}
	}
}

func TestSchema(t *testing.T) {
	for schema, strict := range map[string]bool{
		`{"type":"object","properties":{},"additionalProperties":false}`: true,
		`{"type":"object","properties":{"a":{"type":"string"}}}`:         false,
	} {
		req := conversation()
		req.Schema = json.RawMessage(schema)
		body := sent(t, req, chat.Options{}).Body
		var got struct {
			Format json.RawMessage `json:"response_format"`
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(
			`{"type":"json_schema","json_schema":{"name":"answer","schema":%s,"strict":%t}}`, schema, strict,
		)
		if string(got.Format) != want {
			t.Errorf("response_format is %s, want %s", got.Format, want)
		}
	}
}

// TestNoCalls: a request for text keeps its tools, so that the provider has its
// beginning in its cache; without tools, a choice is an error.
func TestNoCalls(t *testing.T) {
	choice := func(req model.Request) (choice string, tools int) {
		var body struct {
			ToolChoice string            `json:"tool_choice"`
			Tools      []json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(sent(t, req, chat.Options{}).Body, &body); err != nil {
			t.Fatal(err)
		}
		return body.ToolChoice, len(body.Tools)
	}
	req := conversation()
	if c, n := choice(req); c != "" || n != 1 {
		t.Errorf("a usual request has the choice %q and %d tools", c, n)
	}
	req.NoCalls = true
	if c, n := choice(req); c != "none" || n != 1 {
		t.Errorf("a request for text has the choice %q and %d tools", c, n)
	}
	req.Tools = nil
	if c, n := choice(req); c != "" || n != 0 {
		t.Errorf("a request without tools has the choice %q and %d tools", c, n)
	}
}

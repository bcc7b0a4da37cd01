//go:build !fuzzing

package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3/responses"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/openai"
	"github.com/settle-agent/settle/model/transport"
)

// conversation has every kind of item.
func conversation(name string) model.Request {
	return model.Request{
		Model: name, System: "You are settle.", Effort: "high", CacheKey: "s1", MaxTokens: 5,
		Tools: []model.ToolSpec{
			{
				Name:        "shell",
				Description: "Runs.",
				Schema: json.RawMessage(
					`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`,
				),
			},
			{
				Name:        "apply_patch",
				Description: "Patches.",
				Schema:      json.RawMessage(`{"type":"object","properties":{"patch":{"type":"string"}}}`),
				Grammar:     "start: /.+/",
			},
		},
		Input: []model.Item{
			{Role: model.User, Text: "Look.", Images: []model.Image{{MediaType: "image/png", Data: []byte("png")}}},
			{
				Role: model.Reasoning, Text: "Hm.", ID: "rs_1",
				Signature: &model.ProviderSignature{Format: "encrypted", Data: "gAAA="},
			},
			{
				Role: model.Reasoning, ID: "rs_2",
				Signature: &model.ProviderSignature{Format: "encrypted", Data: "gAAB="},
			},
			{Role: model.Reasoning, Text: "unsigned", ID: "rs_3"},
			{Role: model.Assistant, Text: "I look.", ID: "msg_1"},
			{Role: model.Call, CallID: "call_1", ID: "fc_1", Name: "shell", Arguments: `{"command":"ls"}`},
			{
				Role:      model.Call,
				CallID:    "call_2",
				ID:        "ctc_1",
				Name:      "apply_patch",
				Arguments: `{"patch":"*** \"Begin\"\n"}`,
			},
			{Role: model.Call, CallID: "call_3", Name: "apply_patch", Arguments: `{"other":1}`},
			{Role: model.Output, CallID: "call_1", Name: "shell", Text: "a\nb"},
			{Role: model.Output, CallID: "call_2", Name: "apply_patch", Text: "done"},
			{Role: model.Output, CallID: "call_3", Name: "apply_patch", Text: "", Failed: true},
			{Role: model.User, Text: "Go on."},
		},
	}
}

func sent(t *testing.T, req model.Request, e transport.Endpoint) wiretest.Sent {
	t.Helper()
	server := &wiretest.Server{Body: full}
	e.Client = server.Client()
	if r, err := wiretest.Read(t.Context(), openai.New(openai.Options{Endpoint: e}), req); err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
	return server.Sent()[0]
}

// TestRequestAgainstSDK decodes our bodies into the official SDK's types.
func TestRequestAgainstSDK(t *testing.T) {
	for _, name := range []string{"gpt-6.1-sol", "gpt-5", "gpt-4.1", "unknown"} {
		for _, effort := range []string{"", "none", "minimal", "max"} {
			req := conversation(name)
			req.Effort = effort
			diff, err := wiretest.RoundTrip(
				sent(t, req, transport.Endpoint{}).Body, new(responses.ResponseNewParams), "stream",
			)
			if diff != "" || err != nil {
				t.Errorf("%s, effort %q: error %v (-SDK +sent):\n%s", name, effort, err, diff)
			}
		}
	}
}

func TestRequest(t *testing.T) {
	got := sent(t, conversation("gpt-6.1-sol"), transport.Endpoint{
		Key: transport.StaticKey("sk-1"), Extra: map[string]any{"service_tier": "flex", "parallel_tool_calls": nil},
	})
	want := `{
	"model":"gpt-6.1-sol","instructions":"You are settle.","store":false,"stream":true,"service_tier":"flex",
	"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high","summary":"auto"},
	"max_output_tokens":16,"prompt_cache_key":"s1",
	"tools":[
		{"type":"function","name":"shell","description":"Runs.","strict":false,"parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}},
		{"type":"custom","name":"apply_patch","description":"Patches.","format":{"type":"grammar","syntax":"lark","definition":"start: /.+/"}}],
	"input":[
		{"type":"message","role":"user","content":[{"type":"input_text","text":"Look."},{"type":"input_image","image_url":"data:image/png;base64,cG5n","detail":"auto"}]},
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"gAAA="},
		{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gAAB="},
		{"type":"message","role":"assistant","content":"I look."},
		{"type":"function_call","call_id":"call_1","name":"shell","arguments":"{\"command\":\"ls\"}"},
		{"type":"custom_tool_call","call_id":"call_2","name":"apply_patch","input":"*** \"Begin\"\n"},
		{"type":"function_call","call_id":"call_3","name":"apply_patch","arguments":"{\"other\":1}"},
		{"type":"function_call_output","call_id":"call_1","output":"a\nb"},
		{"type":"custom_tool_call_output","call_id":"call_2","output":"done"},
		{"type":"function_call_output","call_id":"call_3","output":""},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"Go on."}]}]}`
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
	if got.URL != "https://api.openai.com/v1/responses" || got.Header.Get("Authorization") != "Bearer sk-1" {
		t.Errorf("URL %s, header %v", got.URL, got.Header)
	}
}

func TestModelsWithoutReasoningOrGrammar(t *testing.T) {
	body := sent(t, conversation("gpt-4.1"), transport.Endpoint{}).Body
	for _, word := range []string{"encrypted_content\"]", `"effort"`, `"custom"`, `"grammar"`} {
		if bytes.Contains(body, []byte(word)) {
			t.Errorf("%s was sent to a model that does not know it", word)
		}
	}
}

func TestSchema(t *testing.T) {
	for schema, strict := range map[string]bool{
		`{"type":"object","properties":{},"additionalProperties":false}`: true,
		`{"type":"object","properties":{"a":{"type":"string"}}}`:         false,
	} {
		req := conversation("gpt-6.1-sol")
		req.Schema = json.RawMessage(schema)
		body := sent(t, req, transport.Endpoint{}).Body
		var got struct{ Text json.RawMessage }
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(`{"format":{"type":"json_schema","name":"answer","schema":%s,"strict":%t}}`, schema, strict)
		if string(got.Text) != want {
			t.Errorf("text is %s, want %s", got.Text, want)
		}
		if diff, err := wiretest.RoundTrip(body, new(responses.ResponseNewParams), "stream"); diff != "" || err != nil {
			t.Errorf("%v (-SDK +sent):\n%s", err, diff)
		}
	}
}

// TestNoCalls: a request for text keeps its tools, so that the provider has its
// beginning in its cache; without tools, a choice is an error.
func TestNoCalls(t *testing.T) {
	req := conversation("gpt-5")
	plain := sent(t, req, transport.Endpoint{})
	req.NoCalls = true
	choice := func(s wiretest.Sent) (choice string, tools int) {
		var body struct {
			ToolChoice string            `json:"tool_choice"`
			Tools      []json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(s.Body, &body); err != nil {
			t.Fatal(err)
		}
		return body.ToolChoice, len(body.Tools)
	}
	if c, n := choice(plain); c != "" || n != 2 {
		t.Errorf("a usual request has the choice %q and %d tools", c, n)
	}
	if c, n := choice(sent(t, req, transport.Endpoint{})); c != "none" || n != 2 {
		t.Errorf("a request for text has the choice %q and %d tools", c, n)
	}
	req.Tools = nil
	if c, n := choice(sent(t, req, transport.Endpoint{})); c != "" || n != 0 {
		t.Errorf("a request without tools has the choice %q and %d tools", c, n)
	}
}

package gemini_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
)

func sent(t *testing.T, req model.Request) (wiretest.Sent, map[string]any) {
	t.Helper()
	server := &wiretest.Server{Body: wiretest.SSE(done)}
	if r, err := wiretest.Read(t.Context(), provider(server), req); err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
	got := server.Sent()[0]
	var body map[string]any
	if err := json.Unmarshal(got.Body, &body); err != nil {
		t.Fatal(err)
	}
	return got, body
}

func TestRequest(t *testing.T) {
	signature := &model.ProviderSignature{Format: "thought", Data: "sig"}
	got, _ := sent(t, model.Request{
		Model: "gemini-3.8-flash", System: "You are settle.", Effort: "max", MaxTokens: 5,
		Tools:  []model.ToolSpec{{Name: "add", Description: "Adds.", Schema: json.RawMessage(`{"type":"object"}`)}},
		Schema: json.RawMessage(`{"type":"object"}`),
		Input: []model.Item{
			{Role: model.User, Text: "Look.", Images: []model.Image{{MediaType: "image/png", Data: []byte("png")}}},
			{Role: model.Reasoning, Text: "for people"},
			{Role: model.Reasoning, Text: "signed", Signature: signature},
			{Role: model.Assistant, Text: "I look."},
			{Role: model.Call, CallID: "call_1", Name: "add", Arguments: `{"a":1}`},
			{Role: model.Call, CallID: "x2", ID: "x2", Name: "add", Arguments: `no JSON`},
			{Role: model.Output, CallID: "call_1", Name: "add", Text: "2"},
			{Role: model.User, Text: "Go on."},
			{Role: model.Output, CallID: "x2", Name: "add", Text: "bad", Failed: true},
		},
	})
	want := `{"systemInstruction":{"parts":[{"text":"You are settle."}]},"contents":[` +
		`{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"cG5n"}},{"text":"Look."}]},` +
		`{"role":"model","parts":[{"text":"signed","thought":true,"thoughtSignature":"sig"},{"text":"I look."},` +
		`{"functionCall":{"name":"add","args":{"a":1}},"thoughtSignature":"skip_thought_signature_validator"},` +
		`{"functionCall":{"id":"x2","name":"add","args":{"invalid_json":"no JSON"}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"add","response":{"output":"2"}}},` +
		`{"functionResponse":{"id":"x2","name":"add","response":{"error":"bad"}}},{"text":"Go on."}]}],` +
		`"tools":[{"functionDeclarations":[{"name":"add","description":"Adds.","parametersJsonSchema":{"type":"object"}}]}],` +
		`"generationConfig":{"maxOutputTokens":5,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"high"},` +
		`"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}}}`
	if diff := cmp.Diff(want, string(got.Body)); diff != "" {
		t.Error(diff)
	}
	if !strings.HasSuffix(got.URL, "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse") {
		t.Errorf("asked %s", got.URL)
	}
}

// Models before Gemini 3 think by a budget, have no signature made up, and take no
// schema with tools.
func TestOlderModels(t *testing.T) {
	for name, want := range map[string]float64{"gemini-2.5-flash": 0, "gemini-2.5-pro": 128} {
		got, body := sent(t, model.Request{
			Model: name, Effort: "none", Schema: json.RawMessage(`{"type":"object"}`), Tools: []model.ToolSpec{{Name: "add"}},
			Input: []model.Item{
				{Role: model.User, Text: "x"},
				{Role: model.Call, CallID: "c", Name: "add"},
				{Role: model.Output, CallID: "c", Name: "add"},
			},
		})
		config, _ := body["generationConfig"].(map[string]any)
		if diff := cmp.Diff(map[string]any{"thinkingConfig": map[string]any{"thinkingBudget": want}}, config); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if strings.Contains(string(got.Body), "thoughtSignature") {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
}

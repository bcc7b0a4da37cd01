package gemini

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/gemini"
	"github.com/settle-agent/settle/model/transport"
	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// recorder answers every request with a stream, and keeps the request.
type recorder struct {
	stream string

	mu   sync.Mutex
	path string
	body map[string]any
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.path, r.body = req.URL.RequestURI(), nil
	if err := json.Unmarshal(raw, &r.body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(r.stream)), Request: req,
	}, nil
}

const stream = `data: {"candidates":[{"content":{"parts":[{"text":"Hm.","thought":true}],"role":"model"},"index":0}],"responseId":"r1","usageMetadata":{"promptTokenCount":9}}

data: {"candidates":[{"content":{"parts":[{"text":"Look: "}],"role":"model"},"index":0}],"responseId":"r1"}

data: {"candidates":[{"content":{"parts":[{"text":"here."},{"functionCall":{"id":"c1","name":"shell","args":{"command":"ls"}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"read","args":{"path":"ä"}}}],"role":"model"},"finishReason":"STOP","index":0}],"responseId":"r1","usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":3,"candidatesTokenCount":5,"thoughtsTokenCount":2}}

`

// streamResult is the content of a stream.
type streamResult struct {
	Thought, Text       string
	Calls               []string
	Input, Cached, Outs int64
}

// settles returns the result that settle's provider reads from the stream, and a recorder of its
// request.
func settles(t *testing.T, req model.Request) (streamResult, *recorder) {
	t.Helper()
	r := &recorder{stream: stream}
	p := gemini.New(
		gemini.Options{
			Endpoint: transport.Endpoint{
				Client: &http.Client{Transport: r},
				Key:    func(context.Context) (string, error) { return "key", nil },
			},
		},
	)
	var got streamResult
	args := ""
	for c, err := range p.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case c.Kind == model.Delta && c.Role == model.Reasoning:
			got.Thought += c.Text
		case c.Kind == model.Delta && c.Role == model.Assistant:
			got.Text += c.Text
		case c.Kind == model.Delta && c.Role == model.Call:
			args = c.Text
		case c.Kind == model.ItemEnd && c.Role == model.Call:
			signature := ""
			if c.Signature != nil {
				signature = c.Signature.Data
			}
			got.Calls = append(got.Calls, c.ID+" "+c.Name+args+signature)
		case c.Kind == model.End:
			got.Input, got.Cached, got.Outs = c.Usage.Input, c.Usage.CacheRead, c.Usage.Output
		}
	}
	return got, r
}

// sdks returns the result that the Gemini SDK reads from the stream, and a recorder of its request.
func sdks(
	t *testing.T, name string, contents []*genai.Content, config *genai.GenerateContentConfig,
) (streamResult, *recorder) {
	t.Helper()
	r := &recorder{stream: stream}
	client, err := genai.NewClient(
		t.Context(),
		&genai.ClientConfig{APIKey: "key", Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{Transport: r}},
	)
	if err != nil {
		t.Fatal(err)
	}
	var got streamResult
	for answer, err := range client.Models.GenerateContentStream(t.Context(), name, contents, config) {
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range answer.Candidates[0].Content.Parts {
			switch {
			case part.FunctionCall != nil:
				args, err := json.Marshal(part.FunctionCall.Args)
				if err != nil {
					t.Fatal(err)
				}
				signature := ""
				if len(part.ThoughtSignature) > 0 {
					signature = "c2ln" // as it is encoded
				}
				got.Calls = append(got.Calls, part.FunctionCall.ID+" "+part.FunctionCall.Name+string(args)+signature)
			case part.Thought:
				got.Thought += part.Text
			default:
				got.Text += part.Text
			}
		}
		if u := answer.UsageMetadata; u != nil {
			got.Input, got.Cached, got.Outs = int64(
				u.PromptTokenCount,
			), int64(
				u.CachedContentTokenCount,
			), int64(
				u.CandidatesTokenCount+u.ThoughtsTokenCount,
			)
		}
	}
	return got, r
}

// TestAgainstSDK: settle sends the same requests as the SDK for the same conversation, and reads
// the same results.
func TestAgainstSDK(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)
	ours, sent := settles(t, model.Request{
		Model: "gemini-3.8-flash", System: "You are settle.", Effort: "high", MaxTokens: 100,
		Tools: []model.ToolSpec{{Name: "shell", Description: "Runs.", Schema: schema}},
		Input: []model.Item{
			{Role: model.User, Text: "Look.", Images: []model.Image{{MediaType: "image/png", Data: []byte("png")}}},
			{Role: model.Assistant, Text: "I look."},
			{
				Role:      model.Call,
				ID:        "c0",
				CallID:    "x",
				Name:      "shell",
				Arguments: `{"command":"ls"}`,
				Signature: &model.ProviderSignature{Format: event.SignatureThought, Data: "c2ln"},
			},
			{Role: model.Output, ID: "c0", CallID: "x", Name: "shell", Text: "a\nb"},
		},
	})
	var parameters any
	if err := json.Unmarshal(schema, &parameters); err != nil {
		t.Fatal(err)
	}
	theirs, expected := sdks(t, "gemini-3.8-flash", []*genai.Content{
		{
			Role: "user",
			Parts: []*genai.Part{
				{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("png")}},
				{Text: "Look."},
			},
		},
		{
			Role: "model",
			Parts: []*genai.Part{
				{Text: "I look."},
				{
					FunctionCall: &genai.FunctionCall{
						ID:   "c0",
						Name: "shell",
						Args: map[string]any{"command": "ls"},
					},
					ThoughtSignature: []byte("sig"),
				},
			},
		},
		{
			Role: "user",
			Parts: []*genai.Part{
				{
					FunctionResponse: &genai.FunctionResponse{
						ID:       "c0",
						Name:     "shell",
						Response: map[string]any{"output": "a\nb"},
					},
				},
			},
		},
	}, &genai.GenerateContentConfig{
		SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "You are settle."}}}, MaxOutputTokens: 100,
		ThinkingConfig: &genai.ThinkingConfig{IncludeThoughts: true, ThinkingLevel: "high"},
		Tools: []*genai.Tool{
			{
				FunctionDeclarations: []*genai.FunctionDeclaration{
					{Name: "shell", Description: "Runs.", ParametersJsonSchema: parameters},
				},
			},
		},
	})
	delete(
		expected.body["systemInstruction"].(map[string]any), "role",
	) // which the SDK names by itself, and the API does not ask for
	if diff := cmp.Diff(expected.body, sent.body); diff != "" {
		t.Errorf("the body (-SDK +settle):\n%s", diff)
	}
	if expected.path != sent.path {
		t.Errorf("the SDK asks %s, settle %s", expected.path, sent.path)
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("what was read (-SDK +settle):\n%s", diff)
	}
}

// A search of the web is the SDK's, too.
func TestSearchAgainstSDK(t *testing.T) {
	_, sent := settles(
		t, model.Request{Model: "gemini-2.0-flash", Input: []model.Item{{Role: model.User, Text: "go"}}, Search: true},
	)
	_, expected := sdks(t, "gemini-2.0-flash", []*genai.Content{{Role: "user", Parts: []*genai.Part{{Text: "go"}}}},
		&genai.GenerateContentConfig{Tools: []*genai.Tool{{GoogleSearch: &genai.GoogleSearch{}}}})
	delete(sent.body, "generationConfig") // which is empty
	delete(expected.body, "generationConfig")
	if diff := cmp.Diff(expected.body, sent.body); diff != "" {
		t.Errorf("(-SDK +settle):\n%s", diff)
	}
}

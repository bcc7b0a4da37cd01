//go:build recordings

package replay

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/modeltest"
)

var paths = map[string]string{
	"responses": "/v1/responses",
	"messages":  "/v1/messages",
	"chat":      "/v1/chat/completions",
	"gemini":    "/v1beta/models/m:streamGenerateContent?alt=sse",
}

// otherwise are requests that the model server rightly refuses, and why.
var otherwise = map[string]string{
	"gemini--aistudio--test-strict-mode-with-tools-streamed-gemini-3-pro-preview--d543f42e":   "it has a schema in another dialect",
	"gemini--aistudio--test-web-search-tool-stream-gemini-2-5-flash--2ce55d3a":                "it has the server's own tools",
	"gemini--aistudio--test-call-with-thinking-gemini-2-5-flash-stream--f049bbbf":             "it has names with underscores",
	"gemini--aistudio--chat-function-calling-gemini-gemini-2-5-flash-can-use-tools--cf9fddfc": "it has a signature of a response that is not recorded",
	"gemini--aistudio--test-google-model-file-search-grounding-gemini-3-True--8f58b87e":       "it has the server's own tools",
	"gemini--aistudio--test-google-model-web-search-tool-stream--81cf0e68":                    "it has the server's own tools",
	"gemini--aistudio--test-google-streaming-tool-call-thought-signature--d34ed89e":           "it asks for modalities",
	"gemini--aistudio--test-native-output-with-function-tools-stream--b4dffb74":               "it asks for modalities",
	"messages--vertex--tool-streaming--cd78d0b0":                                              "Vertex has the model in the URL",
	"responses--deepseek--test-deepseek-responses-function-tool-stream---668600bf":            "its ids are not OpenAI's",
	"responses--openai--test-openai-client-tool-search-streaming--ef6d8d62":                   "it has items of the tool search",
	"responses--openai--test-openai-native-tool-search-streaming--5d3e2246":                   "it has items of the tool search",
	"responses--openai--test-openai-responses-compact-stateful-mode-stream--b24c7ea9":         "it has a compaction of the server's",
	"responses--xai--chat-function-calling-xai-grok-4-1-fast-non-reasoning-can-us--28daedd6":  "it has a signature of a response that is not recorded",
}

// TestServed plays each recording with the model server, which sends it byte for byte. The real
// server accepted the recorded client's next request, so the model server must accept the
// signatures in it.
func TestServed(t *testing.T) {
	for _, rec := range recordings(t) {
		s := modeltest.New(
			modeltest.Scenario{
				Turns: []modeltest.Turn{modeltest.Recorded(rec.body), modeltest.Recorded(rec.body)},
				Rules: modeltest.Rules{
					AllowPrefill: true, AllowRepeatedRoles: true, AllowEmptyText: true,
				},
			},
		)
		client := modeltest.NewClient(t, s.Handler())
		ask := func(body string) (int, []byte) {
			req, err := http.NewRequestWithContext(
				t.Context(),
				"POST",
				"http://model.test"+paths[rec.Wire],
				bytes.NewReader([]byte(body)),
			)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Anthropic-Version", "2023-06-01")
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			raw, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return resp.StatusCode, raw
		}
		first := `{"model":"m","stream":true,"store":false,"max_tokens":100,"messages":[{"role":"user","content":"hi"}]}`
		if rec.Wire == "responses" {
			first = `{"model":"m","stream":true,"store":false,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}`
		}
		if rec.Wire == "gemini" {
			first = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
		}
		if status, got := ask(first); status != 200 || !bytes.Equal(got, rec.body) {
			t.Errorf("%s: %d %s", rec.ID, status, cmp.Diff(string(rec.body), string(got)))
		}
		if rec.next == nil ||
			rec.Wire != "gemini" && !bytes.Contains(rec.next, []byte(`"stream":true`)) &&
				!bytes.Contains(rec.next, []byte(`"stream": true`)) {
			continue
		}
		if status, got := ask(string(rec.next)); status != 200 && otherwise[rec.ID] == "" {
			t.Errorf("%s: the real server took this, and the model server does not: %d %s", rec.ID, status, got)
		}
	}
}

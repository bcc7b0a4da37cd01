package modeltest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// A server with a quirk refuses conversations that have the rejected part, in each dialect, without
// a reason; other conversations are not refused for it.
func TestRejects(t *testing.T) {
	const (
		messages = `{"model":"m","max_tokens":100,"stream":true,"tools":[{"name":"odd","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"odd","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"odd"}]}]}`
		chat     = `{"model":"m","stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"https://a/b.png"}}]},{"role":"assistant","content":"yes","reasoning_content":"hm"},{"role":"user","content":"so"}]}`
		plain    = `{"model":"m","max_tokens":100,"stream":true,"tools":[{"name":"odd","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"hi"}]}`
	)
	for name, tt := range map[string]struct {
		path, body string
		reject     modeltest.Rejection
		want       int
	}{
		"a call":            {"/v1/messages", messages, modeltest.Rejection{Calls: true}, 400},
		"no call":           {"/v1/messages", plain, modeltest.Rejection{Calls: true}, 200},
		"words":             {"/v1/messages", messages, modeltest.Rejection{Contains: "odd"}, 400},
		"words of a tool":   {"/v1/messages", plain, modeltest.Rejection{Contains: "odd"}, 200},
		"too many items":    {"/v1/messages", messages, modeltest.Rejection{Items: 2}, 400},
		"not too many":      {"/v1/messages", messages, modeltest.Rejection{Items: 3}, 200},
		"an image":          {"/v1/chat/completions", chat, modeltest.Rejection{Images: true}, 400},
		"reasoning":         {"/v1/chat/completions", chat, modeltest.Rejection{Reasoning: true}, 400},
		"reasoning, none":   {"/v1/messages", messages, modeltest.Rejection{Reasoning: true}, 200},
		"nothing in common": {"/v1/messages", messages, modeltest.Rejection{Contains: "even"}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			srv := modeltest.NewServer(t, modeltest.Script(modeltest.Say("ok")))
			srv.Reject(tt.reject)
			req, err := http.NewRequestWithContext(
				t.Context(),
				http.MethodPost,
				srv.URL+tt.path,
				strings.NewReader(tt.body),
			)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != tt.want ||
				tt.want == http.StatusBadRequest && !strings.Contains(string(body), `"Invalid request."`) {
				t.Errorf("%d: %s", resp.StatusCode, body)
			}
		})
	}
}

//go:build !fuzzing

package openai_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3/responses"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/openai"
	"github.com/settle-agent/settle/model/transport"
)

// A search is a request with the API's own tool, and no other.
func TestSearch(t *testing.T) {
	server := &wiretest.Server{Body: wiretest.SSE(
		created,
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress","action":{"type":"search"}}}`,
		`{"type":"response.web_search_call.searching","output_index":0,"item_id":"ws_1"}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"go"}}}`,
		`{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","content":[]}}`,
		`{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"Go 1.27."}`,
		`{"type":"response.output_text.annotation.added","output_index":1,"content_index":0,"annotation_index":0,"annotation":{"type":"url_citation","start_index":0,"end_index":2,"url":"https://go.dev/","title":"Go"}}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Go 1.27.","annotations":[`+
			`{"type":"url_citation","start_index":0,"end_index":2,"url":"https://go.dev/","title":"Go"},{"type":"file_citation","file_id":"f","index":1,"filename":"x"}]}]}}`,
		done,
	)}
	p := openai.New(openai.Options{Endpoint: transport.Endpoint{Client: server.Client()}})
	req := model.Request{
		Model:  "gpt-5.2",
		System: "Search.",
		Input:  []model.Item{{Role: model.User, Text: "go"}},
		Search: true,
		Effort: "low",
	}
	r, err := wiretest.Read(t.Context(), p, req)
	if err != nil || r.Err != nil || r.Stop != model.StopEndTurn {
		t.Fatal(err, r.Err, r.Stop)
	}
	if diff := cmp.Diff([]string{"https://go.dev/ Go"}, r.Sources); diff != "" {
		t.Error(diff)
	}
	body := server.Sent()[0].Body
	if !strings.Contains(string(body), `"tools":[{"type":"web_search"}]`) ||
		strings.Contains(string(body), "parallel_tool_calls") {
		t.Errorf("%s", body)
	}
	if diff, err := wiretest.RoundTrip(body, &responses.ResponseNewParams{}, "stream"); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

//go:build !fuzzing

package anthropic_test

import (
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/anthropic"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

// A search is a request with the API's own tool. The sources arrive beside the model's text about
// them, even if the API pauses or one of the searches fails.
func TestSearch(t *testing.T) {
	server := &wiretest.Server{Body: wiretest.SSE(
		`{"type":"message_start","message":{"id":"msg_1","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"go\"}"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[`+
			`{"type":"web_search_result","url":"https://go.dev/","title":"Go","encrypted_content":"Eq","page_age":null}]}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_2","content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"","citations":[]}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://go.dev/","title":"Go","encrypted_index":"Eo","cited_text":"Go"}}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"Go 1.27."}}`,
		`{"type":"content_block_stop","index":3}`,
		`{"type":"message_delta","delta":{"stop_reason":"pause_turn"},"usage":{"output_tokens":9,"server_tool_use":{"web_search_requests":1}}}`,
		`{"type":"message_stop"}`,
	)}
	p := anthropic.New(anthropic.Options{Endpoint: transport.Endpoint{Client: server.Client()}})
	req := model.Request{
		Model:  "claude-opus-5-5",
		System: "Search.",
		Input:  []model.Item{{Role: model.User, Text: "go"}},
		Search: true,
		Effort: "low",
	}
	r, err := wiretest.Read(t.Context(), p, req)
	if err != nil || r.Err != nil || r.Stop != model.StopPause {
		t.Fatal(err, r.Err, r.Stop)
	}
	if diff := cmp.Diff([]string{"https://go.dev/ Go"}, r.Sources); diff != "" {
		t.Error(diff)
	}
	body := server.Sent()[0].Body
	if !strings.Contains(
		string(body),
		`"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":5,"cache_control":{"type":"ephemeral"}}]`,
	) {
		t.Errorf("%s", body)
	}
	if diff, err := wiretest.RoundTrip(body, &sdk.MessageNewParams{}, "stream", "thinking", "output_config"); err != nil ||
		diff != "" {
		t.Error(err, diff)
	}
	req.Search = false
	if r, err := wiretest.Read(t.Context(), p, req); err != nil || len(r.Sources) != 0 {
		t.Errorf("%v: sources that nobody asked for: %q", err, r.Sources)
	}
}

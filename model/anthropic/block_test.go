//go:build !fuzzing

package anthropic_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

// TestAnotherMessageBegins: if a gateway begins the message again, the earlier part ends; an
// interrupted call did not happen.
func TestAnotherMessageBegins(t *testing.T) {
	again := strings.Replace(start, "msg_1", "msg_2", 1)
	on := strings.Replace(callOn, `"index":1`, `"index":0`, 1)
	body := wiretest.SSE(
		start, textOn, hello, callOn, again, strings.Replace(on, "toolu_1", "toolu_2", 1), off, toolUse, stop,
	)
	got := read(t, &wiretest.Server{Body: body})
	want := []wiretest.Item{
		{Role: model.Assistant, Text: "Hello \"you\"\né 😀"},
		{Role: model.Call, ID: "toolu_1", CallID: "toolu_1", Name: "shell", Dropped: true},
		{Role: model.Call, Text: "{}", ID: "toolu_2", CallID: "toolu_2", Name: "shell"},
	}
	if diff := cmp.Diff(want, got.Items); diff != "" || got.Err != nil || got.Stop != model.StopToolUse {
		t.Errorf("stop %q, error %v (-want +got):\n%s", got.Stop, got.Err, diff)
	}
}

// TestOwnTools: the API receives its own actions unchanged.
func TestOwnTools(t *testing.T) {
	const result = `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","encrypted_content":"Ev=="}]}`
	body := wiretest.SSE(
		start,
		`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"go\"}"}}`,
		off,
		`{"type":"content_block_start","index":1,"content_block":`+result+`}`,
		off1,
		strings.ReplaceAll(textOn, `"index":0`, `"index":2`),
		strings.ReplaceAll(hello, `"index":0`, `"index":2`),
		strings.ReplaceAll(off, `"index":0`, `"index":2`),
		endTurn,
		stop,
	)
	got := read(t, &wiretest.Server{Body: body})
	if len(got.Items) != 3 || got.Items[0].Signature == nil || got.Items[1].Signature == nil {
		t.Fatalf("%+v", got)
	}
	req := model.Request{Model: "m", Input: []model.Item{{Role: model.User, Text: "hi"}}}
	for _, item := range got.Items {
		req.Input = append(req.Input, model.Item{Role: item.Role, Text: item.Text, Signature: item.Signature})
	}
	req.Input = append(req.Input, model.Item{Role: model.User, Text: "more"})
	const use = `{"id":"srvtoolu_1","input":{"query":"go"},"name":"web_search","type":"server_tool_use"}`
	if sent := string(sent(t, req, transport.Endpoint{}).Body); !strings.Contains(
		sent, `"content":[`+use+","+result+",",
	) {
		t.Errorf("sent %s", sent)
	}
	req.Input = slices.Delete(req.Input, 2, 3) // a response that was cut
	if sent := string(sent(t, req, transport.Endpoint{}).Body); strings.Contains(sent, "srvtoolu_1") {
		t.Errorf("sent a use without its result: %s", sent)
	}
}

// TestUnsignedThinking: servers that imitate the API sign nothing, and want it
// back: "The `content[].thinking` in the thinking mode must be passed back".
func TestUnsignedThinking(t *testing.T) {
	body := wiretest.SSE(
		start,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm."}}`,
		off,
		strings.ReplaceAll(textOn, `"index":0`, `"index":1`),
		strings.ReplaceAll(hello, `"index":0`, `"index":1`),
		off1,
		endTurn,
		stop,
	)
	item := read(t, &wiretest.Server{Body: body}).Items[0]
	req := model.Request{Model: "m", Input: []model.Item{
		{
			Role: model.User,
			Text: "hi",
		}, {Role: model.Reasoning, Text: item.Text, Signature: item.Signature}, {Role: model.Assistant, Text: "x"}, {Role: model.User, Text: "y"},
	}}
	if sent := string(sent(t, req, transport.Endpoint{}).Body); !strings.Contains(
		sent, `{"type":"thinking","thinking":"Hm."}`,
	) {
		t.Errorf("sent %s", sent)
	}
}

// TestFillThinking: DeepSeek refuses a call without thinking.
func TestFillThinking(t *testing.T) {
	req := model.Request{Model: "m", Input: []model.Item{
		{
			Role: model.User,
			Text: "hi",
		}, {Role: model.Call, CallID: "a", Name: "look", Arguments: "{}"}, {Role: model.Output, CallID: "a", Text: "A"},
	}}
	const want = `{"type":"thinking","thinking":"(not kept)"},{"type":"tool_use"`
	if sent := string(sent(t, req, transport.Endpoint{BaseURL: "https://api.deepseek.com/anthropic"}).Body); !strings.Contains(
		sent, want,
	) {
		t.Errorf("sent %s", sent)
	}
	if sent := string(sent(t, req, transport.Endpoint{}).Body); strings.Contains(sent, "thinking") {
		t.Errorf("sent %s", sent)
	}
}

//go:build !fuzzing

package modeltest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/settle-agent/settle/modeltest"
)

func findingTurns() modeltest.Scenario {
	return modeltest.Script(
		modeltest.Reply(modeltest.Find("met__weather"), modeltest.Call("met__weather", `{}`)),
		modeltest.Say("done"),
	)
}

func TestToolSearchWithOfficialSDKOfOpenAI(t *testing.T) {
	srv := modeltest.NewServer(t, findingTurns())
	client := openaiClient(srv)
	ask := responses.ResponseInputItemParamOfMessage("will it rain?", responses.EasyInputMessageRoleUser)
	params := responsesInput(ask)
	params.Tools = append(params.Tools,
		responses.ToolUnionParam{OfNamespace: &responses.NamespaceToolParam{
			Name: "met", Description: "Tools of met.",
			Tools: []responses.NamespaceToolToolUnionParam{{OfFunction: &responses.NamespaceToolToolFunctionParam{
				Name: "met__weather", Parameters: map[string]any{"type": "object"}, DeferLoading: openai.Bool(true),
			}}},
		}},
		responses.ToolUnionParam{OfToolSearch: &responses.ToolSearchToolParam{}},
	)
	stream := client.Responses.NewStreaming(t.Context(), params)
	var final responses.Response
	for stream.Next() {
		if e, ok := stream.Current().AsAny().(responses.ResponseCompletedEvent); ok {
			final = e.Response
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if len(final.Output) != 3 || final.Output[0].AsToolSearchCall().Execution != "server" ||
		final.Output[1].AsToolSearchOutput().Tools[0].AsNamespace().Name != "met" ||
		final.Output[2].AsFunctionCall().Namespace != "met" {
		t.Fatalf("output: %s", final.RawJSON())
	}
	items := []responses.ResponseInputItemUnionParam{ask}
	for _, it := range final.Output {
		items = append(items, param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(it.RawJSON())))
	}
	params.Input.OfInputItemList = append(items, param.Override[responses.ResponseInputItemUnionParam](map[string]any{
		"type": "function_call_output", "call_id": final.Output[2].CallID, "output": "no",
	}))
	again, err := client.Responses.New(t.Context(), params)
	if err != nil || again.OutputText() != "done" {
		t.Errorf("%v: %+v", err, again)
	}
}

func TestToolSearchWithOfficialSDKOfAnthropic(t *testing.T) {
	srv := modeltest.NewServer(t, findingTurns())
	client := anthropicClient(srv)
	params := anthropic.MessageNewParams{
		Model: "claude-test", MaxTokens: 4096,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("will it rain?"))},
		Tools: []anthropic.ToolUnionParam{
			{
				OfToolSearchToolBm25_20251119: &anthropic.ToolSearchToolBm25_20251119Param{
					Type: "tool_search_tool_bm25_20251119",
				},
			},
			{
				OfTool: &anthropic.ToolParam{
					Name:         "met__weather",
					DeferLoading: anthropic.Bool(true),
					InputSchema:  anthropic.ToolInputSchemaParam{Properties: map[string]any{}},
				},
			},
		},
	}
	stream := client.Messages.NewStreaming(t.Context(), params)
	var got anthropic.Message
	for stream.Next() {
		if err := got.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if len(got.Content) != 3 || got.Content[0].AsServerToolUse().Name != "tool_search_tool_bm25" ||
		got.Content[1].AsToolSearchToolResult().Content.ToolReferences[0].ToolName != "met__weather" ||
		got.Content[2].Type != "tool_use" {
		t.Fatalf("message: %+v", got)
	}
	params.Messages = append(
		params.Messages,
		got.ToParam(),
		anthropic.NewUserMessage(anthropic.NewToolResultBlock(got.Content[2].ID, "no", false)),
	)
	again, err := client.Messages.New(t.Context(), params)
	if err != nil || len(again.Content) != 1 || again.Content[0].Text != "done" {
		t.Errorf("%v: %+v", err, again)
	}
}

// Requests with the provider's own search of tools that providers refuse. check_toolsearch.go has
// the sources.
func TestToolSearchIsRefused(t *testing.T) {
	const (
		deferred = `{"name":"a","input_schema":{"type":"object"},"defer_loading":true}`
		search   = `{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}`
		use      = `{"type":"server_tool_use","id":"srvtoolu_1","name":"tool_search_tool_bm25","input":{}}`
		result   = `{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"a"}]}}`
		space    = `{"type":"namespace","name":"n","description":"d","tools":[{"type":"function","name":"a","defer_loading":true}]}`
	)
	messages := func(tools, said string) string {
		return `{"model":"m","max_tokens":10,"tools":[` + tools + `],"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` + said + `]},{"role":"user","content":"on"}]}`
	}
	items := func(tools, item string) string {
		return `{"model":"m","tools":[` + tools + `],"input":[{"role":"user","content":"hi"}` + item + `]}`
	}
	call := func(more string) string {
		return `,{"type":"function_call","call_id":"c","name":"a","arguments":"{}"` + more + `},{"type":"function_call_output","call_id":"c","output":"x"}`
	}
	none := modeltest.Rules{NoToolSearch: true}
	for _, tt := range []struct {
		rules      modeltest.Rules
		body, want string
	}{
		{body: messages(search+","+deferred, use+","+result+`,{"type":"text","text":"x"}`)},
		{body: messages(deferred[:len(deferred)-1]+`,"cache_control":{"type":"ephemeral"}},`+search, use+","+result), want: "cannot have both defer_loading=true and cache_control"},
		{body: messages(deferred, `{"type":"text","text":"x"}`), want: "All tools cannot be deferred"},
		{body: messages(strings.Replace(search, "bm25_20251119", "bm25_2", 1), `{"type":"text","text":"x"}`), want: "Input tag 'tool_search_tool_bm25_2' found"},
		{body: messages(search+","+deferred, use+`,{"type":"text","text":"x"}`), want: "without a corresponding"},
		{body: messages(search+","+deferred, result+`,{"type":"text","text":"x"}`), want: "must have a corresponding `server_tool_use` block before it"},
		{body: messages(search+","+strings.Replace(deferred, `"a"`, `"b"`, 1), use+","+result), want: "Tool reference 'a' not found in available tools"},
		{rules: none, body: messages(search+","+deferred, `{"type":"text","text":"x"}`), want: "does not match any of the expected tags"},
		{body: items(space+`,{"type":"tool_search"}`, call(`,"namespace":"n"`))},
		{body: items(space, ""), want: "Deferred tools require tools.tool_search"},
		{body: items(`{"type":"tool_search"}`, ""), want: "requires at least one deferred tool"},
		{body: items(space+`,{"type":"tool_search"}`, call("")), want: "Missing namespace for function_call 'a'"},
		{body: items(strings.Replace(space, `"description":"d",`, "", 1)+`,{"type":"tool_search"}`, ""), want: "tools[0]"},
		{rules: none, body: items(space+`,{"type":"tool_search"}`, ""), want: "Invalid value: 'tool_search'"},
	} {
		srv := modeltest.NewServer(t, modeltest.Scenario{Rules: tt.rules, Turns: []modeltest.Turn{modeltest.Say("ok")}})
		url := srv.OpenAI() + "/responses"
		if strings.Contains(tt.body, `"messages"`) {
			url = srv.Anthropic() + "/v1/messages"
		}
		resp, err := srv.Client().Post(url, "application/json", strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		var e struct {
			Error struct{ Message, Param string }
		}
		_ = json.Unmarshal(said, &e)
		if (tt.want == "") != (resp.StatusCode == http.StatusOK) ||
			!strings.Contains(e.Error.Message+e.Error.Param, tt.want) {
			t.Errorf("%s\ngot %d %s\nwant %q", tt.body, resp.StatusCode, said, tt.want)
		}
	}
}

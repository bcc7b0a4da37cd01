//go:build !fuzzing

package anthropic_test

import (
	"encoding/json"
	"slices"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/anthropic"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

// Blocks of a recording of the API (packages/anthropic of github.com/vercel/ai,
// anthropic-tool-search-bm25.1).
const (
	searchUse    = `{"type":"server_tool_use","id":"srvtoolu_1","name":"tool_search_tool_bm25","input":{"query":"weather"},"caller":{"type":"direct"}}`
	searchResult = `{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"met__weather"}]}}`
)

// searched is a conversation in which the API found a tool.
func searched() model.Request {
	object := json.RawMessage(`{"type":"object","properties":{}}`)
	opaque := func(block string) model.Item {
		return model.Item{Role: model.Reasoning, Signature: &model.ProviderSignature{Format: "block", Data: block}}
	}
	return model.Request{
		Model: "claude-opus-5", System: "You are settle.",
		Tools: []model.ToolSpec{
			{Name: "shell", Description: "Runs.", Schema: object},
			{Name: "met__weather", Description: "Forecasts.", Schema: object, Deferred: "met"},
			{Name: "read", Description: "Reads.", Schema: object},
			{Name: "met__tides", Description: "Tides.", Schema: object, Deferred: "met"},
		},
		Input: []model.Item{
			{Role: model.User, Text: "Will it rain?"},
			opaque(searchUse), opaque(searchResult),
			{Role: model.Call, CallID: "toolu_1", Name: "met__weather", Arguments: `{}`},
			{Role: model.Output, CallID: "toolu_1", Name: "met__weather", Text: "no"},
		},
	}
}

func TestDeferredTools(t *testing.T) {
	body := sent(t, searched(), transport.Endpoint{}).Body
	if diff, err := wiretest.RoundTrip(body, new(sdk.MessageNewParams), "stream"); diff != "" || err != nil {
		t.Errorf("error %v (-SDK +sent):\n%s", err, diff) // the search is in the API, not in its beta
	}
	var got struct {
		Tools []struct {
			Type, Name string
			Defer      bool            `json:"defer_loading"`
			Cache      json.RawMessage `json:"cache_control"`
		}
		Messages []struct{ Content []json.RawMessage }
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range got.Tools {
		names = append(names, tool.Name)
		if tool.Defer != (tool.Name == "met__weather" || tool.Name == "met__tides") || tool.Defer && tool.Cache != nil {
			t.Errorf("tool %+v", tool)
		}
	}
	if want := []string{"shell", "read", "tool_search_tool_bm25", "met__weather", "met__tides"}; !slices.Equal(
		names, want,
	) {
		t.Errorf("got %q, want %q", names, want)
	}
	if got.Tools[2].Type != "tool_search_tool_bm25_20251119" || got.Tools[2].Cache == nil {
		t.Errorf("the search: %+v", got.Tools[2])
	}
	if said := got.Messages[1].Content; len(said) != 3 || string(said[0]) != searchUse ||
		string(said[1]) != searchResult {
		t.Errorf("the search goes back as %s", said)
	}
}

// C6: a reference to a tool that the request does not have is refused.
func TestStaleSearch(t *testing.T) {
	for name, change := range map[string]func(*model.Request){
		"the tool is gone":         func(r *model.Request) { r.Tools = slices.Delete(r.Tools, 1, 2) },
		"the tool is not deferred": func(r *model.Request) { r.Tools[1].Deferred = "" },
		"nothing is deferred":      func(r *model.Request) { r.Tools = r.Tools[:1] },
		"no use":                   func(r *model.Request) { r.Input = slices.Delete(r.Input, 1, 2) },
		"no result":                func(r *model.Request) { r.Input = slices.Delete(r.Input, 2, 3) },
	} {
		req := searched()
		change(&req)
		var got struct {
			Messages []struct{ Content []struct{ Type string } }
		}
		if err := json.Unmarshal(sent(t, req, transport.Endpoint{}).Body, &got); err != nil {
			t.Fatal(err)
		}
		if said := got.Messages[1].Content; len(said) != 1 || said[0].Type != "tool_use" {
			t.Errorf("%s: got %v", name, said)
		}
	}
}

func TestSearchIsKept(t *testing.T) {
	body := wiretest.SSE(
		`{"type":"message_start","message":{"id":"msg_1","content":[]}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"tool_search_tool_bm25","input":{},"caller":{"type":"direct"}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"weat"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"her\"}"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":`+searchResult+`}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"met__weather","input":{}}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
		`{"type":"message_stop"}`,
	)
	server := &wiretest.Server{Body: body}
	p := anthropic.New(anthropic.Options{Endpoint: transport.Endpoint{Client: server.Client()}})
	got, err := wiretest.Read(t.Context(), p, searched())
	if err != nil || got.Err != nil || len(got.Items) != 3 || got.Stop != model.StopToolUse {
		t.Fatalf("%v: %+v", err, got)
	}
	var use, want map[string]any
	if json.Unmarshal([]byte(got.Items[0].Signature.Data), &use) != nil || json.Unmarshal([]byte(searchUse), &want) != nil ||
		len(use) != len(want) ||
		got.Items[1].Signature.Data != searchResult {
		t.Errorf("kept as %s and %s", got.Items[0].Signature.Data, got.Items[1].Signature.Data)
	}
}

// TestSearchesTools: servers that only resemble the API are assumed not to have the search.
func TestSearchesTools(t *testing.T) {
	own := anthropic.New(anthropic.Options{})
	gateway := anthropic.New(anthropic.Options{Endpoint: transport.Endpoint{BaseURL: "https://gateway.test"}})
	if !own.Model("claude-opus-5-5").ToolSearch || own.Model("claude-3-haiku").ToolSearch ||
		gateway.Model("claude-opus-5-5").ToolSearch {
		t.Error("the wrong models search tools")
	}
}

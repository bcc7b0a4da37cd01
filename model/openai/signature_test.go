//go:build !fuzzing

package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

// TestComesBack: the API receives the fields that it added to an item unchanged.
func TestComesBack(t *testing.T) {
	for name, tt := range map[string]struct{ item, want string }{
		"phase of a message": {
			`{"id":"msg_1","type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look."}]}`,
			`{"type":"message","role":"assistant","content":"I look.","phase":"commentary"}`,
		},
		"namespace and caller of a call": {
			`{"id":"fc_1","type":"function_call","call_id":"c1","name":"shell","arguments":"{\"a\":1}","status":"completed","namespace":"n","caller":{"type":"program"}}`,
			`{"type":"function_call","call_id":"c1","name":"shell","arguments":"{\"a\":1}","namespace":"n","caller":{"type":"program"}}`,
		},
		"reasoning that is not encrypted": { // DeepSeek, LM Studio
			`{"id":"rs_1","type":"reasoning","status":"completed","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}],"encrypted_content":null}`,
			`{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]}`,
		},
		"a search of its own": {
			`{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"go"}}`,
			`{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"go"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			body := wiretest.SSE(
				created, `{"type":"response.output_item.done","output_index":0,"item":`+tt.item+`}`, done,
			)
			item := read(t, &wiretest.Server{Body: body}).Items[0]
			req := model.Request{Model: "gpt-6.1-sol", Input: []model.Item{
				{Role: model.User, Text: "hi"},
				{
					Role: item.Role, Text: item.Text, ID: item.ID, CallID: item.CallID, Name: item.Name,
					Signature: item.Signature,
				},
			}}
			if item.Role == model.Call {
				req.Input[1].Text, req.Input[1].Arguments = "", item.Text
			}
			var got struct{ Input []any }
			if err := json.Unmarshal(sent(t, req, transport.Endpoint{}).Body, &got); err != nil {
				t.Fatal(err)
			}
			var want any
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Input[1]); diff != "" {
				t.Errorf("(-want +sent):\n%s", diff)
			}
		})
	}
}

// TestGrouped: DeepSeek takes nothing between the calls of a response.
func TestGrouped(t *testing.T) {
	call := func(id string) model.Item {
		return model.Item{Role: model.Call, CallID: id, Name: "shell", Arguments: "{}"}
	}
	req := model.Request{Model: "deepseek-v4-flash", Input: []model.Item{
		{Role: model.User, Text: "hi"},
		{Role: model.Assistant, Text: "one"},
		call("a"),
		{Role: model.Assistant, Text: "two"},
		call("b"),
		{Role: model.Output, CallID: "a"},
		{Role: model.Output, CallID: "b"},
		{Role: model.Assistant, Text: "three"},
		{Role: model.User, Text: "more"},
	}}
	for url, want := range map[string]string{
		"https://api.deepseek.com": "hi one two a b a b three more ",
		"":                         "hi one a two b a b three more ",
	} {
		var got struct {
			Input []struct {
				CallID  string `json:"call_id"`
				Content any
			}
		}
		if err := json.Unmarshal(sent(t, req, transport.Endpoint{BaseURL: url}).Body, &got); err != nil {
			t.Fatal(err)
		}
		order := ""
		for _, it := range got.Input {
			switch content := it.Content.(type) {
			case string:
				order += content + " "
			case []any:
				order += content[0].(map[string]any)["text"].(string) + " "
			default:
				order += it.CallID + " "
			}
		}
		if order != want {
			t.Errorf("%s: sent %s, want %s", url, order, want)
		}
	}
}

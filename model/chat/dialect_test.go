//go:build !fuzzing

package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

// called is a conversation in which a tool was called, its output came, and the
// user said more.
func called(name string, items ...model.Item) model.Request {
	list := append([]model.Item{{Role: model.User, Text: "hi"}}, items...)
	return model.Request{Model: name, Input: append(list,
		model.Item{Role: model.Output, CallID: items[len(items)-1].CallID, Name: "look", Text: "A"},
		model.Item{Role: model.User, Text: "more"},
	)}
}

func call(id string, signature *model.ProviderSignature) model.Item {
	return model.Item{Role: model.Call, CallID: id, Name: "look", Arguments: "{}", Signature: signature}
}

// laterMessages returns the messages except the first, without the fields for every server.
func laterMessages(t *testing.T, req model.Request, o chat.Options) string {
	t.Helper()
	var got struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(sent(t, req, o).Body, &got); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(got.Messages[1:])
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), `"type":"function","function":{"name":"look","arguments":"{}"}`, `F`)
}

func TestDialects(t *testing.T) {
	google := &model.ProviderSignature{
		Format: "members", Data: `{"extra_content":{"google":{"thought_signature":"s"}}}`,
	}
	field := &model.ProviderSignature{Format: "field", Data: "reasoning_content"}
	thought := model.Item{Role: model.Reasoning, Text: "Hm.", Signature: field}
	const plain = `[{"role":"assistant","content":null,"tool_calls":[{"id":"call_1",F}]},{"role":"tool","content":"A","tool_call_id":"call_1"},{"role":"user","content":"more"}]`
	with := func(field string) string {
		return strings.Replace(plain, `}]},{"role":"tool"`, `}],`+field+`},{"role":"tool"`, 1)
	}
	bridged := func(id string) string {
		return strings.ReplaceAll(
			strings.Replace(plain, `{"role":"user"`, `{"role":"assistant","content":"Understood."},{"role":"user"`, 1),
			"call_1", id,
		)
	}
	for name, tt := range map[string]struct {
		req     model.Request
		url     string
		dialect string
		want    string
	}{
		"none":                             {req: called("m", call("call_1", nil)), want: plain},
		"configured as none":               {req: called("mistral-large", call("call_1", nil)), dialect: "openai", url: "https://api.deepseek.com", want: plain},
		"Mistral":                          {req: called("m", call("call_1", nil)), url: "https://api.mistral.ai/v1", want: bridged("oqmw7zzoj")},
		"Mistral elsewhere":                {req: called("mistralai/devstral-2", call("call_1", nil)), want: bridged("oqmw7zzoj")},
		"Mistral, configured":              {req: called("m", call("call_1", nil)), dialect: "mistral", want: bridged("oqmw7zzoj")},
		"Mistral, by its ids":              {req: called("m", call("Abc123xyZ", nil)), want: bridged("Abc123xyZ")},
		"ids of ours":                      {req: called("m", call("x00000001", nil)), want: strings.ReplaceAll(plain, "call_1", "x00000001")},
		"DeepSeek":                         {req: called("deepseek-reasoner", thought, call("call_1", nil)), url: "https://api.deepseek.com", want: with(`"reasoning_content":"Hm."`)},
		"DeepSeek, another model's call":   {req: called("deepseek-v4-pro", call("call_1", nil)), url: "https://api.deepseek.com", want: with(`"reasoning_content":"(not kept)"`)},
		"DeepSeek, which does not think":   {req: called("deepseek-chat", call("call_1", nil)), url: "https://api.deepseek.com", want: plain},
		"DeepSeek, thought that is masked": {req: called("deepseek-v4-pro", model.Item{Role: model.Reasoning, Text: "***"}, call("call_1", nil)), url: "https://api.deepseek.com", want: with(`"reasoning_content":"***"`)},
		"Moonshot":                         {req: called("kimi-k2.5", call("call_1", nil)), url: "https://api.moonshot.cn/v1", want: with(`"reasoning_content":"(not kept)"`)},
		"a thought elsewhere":              {req: called("m", model.Item{Role: model.Reasoning, Text: "Hm."}, call("call_1", nil)), want: plain},
		"Groq":                             {req: called("m", thought, call("call_1", nil)), url: "https://api.groq.com/openai/v1", want: plain},
		"xAI":                              {req: called("grok-4", call("call_1", nil)), url: "https://api.x.ai/v1", want: strings.Replace(plain, `"content":null`, `"content":""`, 1)},
		"Gemini": {
			req: called("gemini-3-pro", call("call_1", google)), url: "https://generativelanguage.googleapis.com/v1beta/openai",
			want: strings.Replace(plain, "F}]", `F,"extra_content":{"google":{"thought_signature":"s"}}}]`, 1),
		},
		"Gemini, another model's call": {
			req: called("gemini-3-pro", call("call_1", nil)), url: "https://generativelanguage.googleapis.com/v1beta/openai",
			want: strings.Replace(plain, "F}]", `F,"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}}]`, 1),
		},
	} {
		t.Run(name, func(t *testing.T) {
			options := chat.Options{Endpoint: transport.Endpoint{BaseURL: tt.url}, Dialect: tt.dialect}
			got := laterMessages(t, tt.req, options)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +sent):\n%s", diff)
			}
		})
	}
}

// TestLearned: a requirement that a server showed in one item applies to all of them.
func TestLearned(t *testing.T) {
	req := called(
		"kimi-k2-thinking",
		model.Item{
			Role: model.Reasoning, Text: "Hm.",
			Signature: &model.ProviderSignature{Format: "field", Data: "reasoning_content"},
		},
		call("a", nil),
	)
	req.Input = append(req.Input, call("b", nil), model.Item{Role: model.Output, CallID: "b", Name: "look", Text: "B"})
	if got := laterMessages(t, req, chat.Options{}); !strings.Contains(
		got, `"tool_calls":[{"id":"b",F}],"reasoning_content":"(not kept)"`,
	) {
		t.Errorf("sent %s", got)
	}
	req = called(
		"m", call("a", &model.ProviderSignature{
			Format: "members", Data: `{"extra_content":{"google":{"thought_signature":"s"}}}`,
		}),
	)
	req.Input = append(req.Input, call("b", nil), model.Item{Role: model.Output, CallID: "b", Name: "look", Text: "B"})
	if got := laterMessages(t, req, chat.Options{}); !strings.Contains(
		got, `"id":"b",F,"extra_content":{"google":{"thought_signature":"skip_`,
	) {
		t.Errorf("sent %s", got)
	}
}

// TestComesBack: the server receives the fields that it added, though they arrived after the call
// had ended.
func TestComesBack(t *testing.T) {
	const signature = `"extra_content":{"google":{"thought_signature":"s"}}`
	const function = `"id":"functions.look:0","type":"function","function":{"name":"look","arguments":"{}"}`
	for name, tt := range map[string]struct {
		events []string
		want   string
	}{
		"with the call": {
			[]string{delta(`"tool_calls":[{"index":0,` + function + `,` + signature + `}]`)},
			`"tool_calls":[{"id":"functions.look:0",F,` + signature + `}]`,
		},
		"after the call": {
			[]string{delta(`"tool_calls":[{"index":0,` + function + `}]`), delta(`"content":"x"`), delta(`"tool_calls":[{"index":0,` + signature + `}]`)},
			`"tool_calls":[{"id":"functions.look:0",F,` + signature + `}]`,
		},
		"of the text": {
			[]string{delta(`"content":"x"`), delta(`"content":"",` + signature)},
			`"content":"x",` + signature,
		},
		"details after the call": { // OpenRouter with Gemini
			[]string{delta(`"tool_calls":[{"index":0,` + function + `}]`), delta(`"reasoning_details":[{"type":"reasoning.encrypted","data":"c2ln","id":"functions.look:0","index":0}]`)},
			`"reasoning_details":[{"data":"c2ln","id":"functions.look:0","index":0,"type":"reasoning.encrypted"}]`,
		},
		"a signature after the text": { // OpenRouter with Claude
			[]string{delta(`"reasoning_details":[{"type":"reasoning.text","text":"Hm.","index":0}]`), delta(`"content":"x"`), delta(`"reasoning_details":[{"type":"reasoning.text","signature":"s","index":0}]`)},
			`"reasoning_details":[{"index":0,"signature":"s","text":"Hm.","type":"reasoning.text"}]`,
		},
		"thinking as a part": { // Mistral
			[]string{delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]}]`), delta(`"content":"x"`)},
			`"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"x"}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(t, &wiretest.Server{Body: wiretest.SSE(append(tt.events, finish("stop"), done)...)})
			req := model.Request{Model: "m", Input: []model.Item{{Role: model.User, Text: "hi"}}}
			for _, item := range got.Items {
				next := model.Item{
					Role:      item.Role,
					Text:      item.Text,
					CallID:    item.CallID,
					Name:      item.Name,
					Signature: item.Signature,
				}
				if item.Role == model.Call {
					next.Text, next.Arguments = "", item.Text
				}
				req.Input = append(req.Input, next)
			}
			if sent := laterMessages(t, req, chat.Options{}); !strings.Contains(sent, tt.want) {
				t.Errorf("sent %s,\nwant %s", sent, tt.want)
			}
		})
	}
}

// TestCacheControl: Claude behind OpenRouter reads nothing from its cache
// without it, takes four at most, and none at a tool's message.
func TestCacheControl(t *testing.T) {
	req := conversation()
	req.Model = "anthropic/claude-sonnet-4-5"
	o := chat.Options{Endpoint: transport.Endpoint{BaseURL: "https://openrouter.ai/api/v1"}}
	body := string(sent(t, req, o).Body)
	const mark = `"cache_control":{"type":"ephemeral"}`
	if n := strings.Count(body, mark); n != 4 {
		t.Errorf("%d breakpoints, want 4: %s", n, body)
	}
	for _, want := range []string{`{` + mark + `,"max_tokens"`, `{"role":"system","content":[{"type":"text","text":"You are settle.",` + mark, `"text":"Go on.\n\nNow.",` + mark, `"text":"I look.",` + mark} {
		if !strings.Contains(body, want) {
			t.Errorf("not in the body: %s\n%s", want, body)
		}
	}
	req.Model = "openai/gpt-5"
	if body := string(sent(t, req, o).Body); strings.Contains(body, "cache_control") {
		t.Error("breakpoints for a model that has none")
	}
}

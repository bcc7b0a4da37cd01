package modeltest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/modeltest"
)

// refusal is a request with the provider's error; "" for a valid request.
type refusal struct {
	name, body, want string
}

const window = 2000

func strictServer(t *testing.T) *modeltest.Server {
	return modeltest.NewServer(t, modeltest.Scenario{
		Rules:  modeltest.Rules{Models: []modeltest.Model{{ID: "m", MaxOutput: 1000, Window: window}}, RequireStoreFalse: true},
		Answer: func(modeltest.Request) modeltest.Turn { return modeltest.Say("fine") },
	})
}

// checkRefusals sends each request and compares the answer's message.
func checkRefusals(t *testing.T, path string, tests []refusal) {
	t.Helper()
	srv := strictServer(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := ask(t.Context(), srv, path, test.body)
			if test.want == "" {
				if a.status != 200 {
					t.Errorf("refused: %d %s", a.status, a.body)
				}
				return
			}
			var e struct {
				Error struct{ Message string }
			}
			if err := json.Unmarshal([]byte(a.body), &e); err != nil || a.status/100 != 4 || !strings.Contains(e.Error.Message, test.want) {
				t.Errorf("want %q, got %d %s", test.want, a.status, a.body)
			}
		})
	}
}

func messagesBody(messages string) string {
	return `{"model":"m","max_tokens":100,"stream":true,"messages":[` + messages + `]}`
}

const (
	user      = `{"role":"user","content":"hi"}`
	assistant = `{"role":"assistant","content":"hello"}`
	toolUse   = `{"type":"tool_use","id":"toolu_1","name":"shell","input":{}}`
	toolUse2  = `{"type":"tool_use","id":"toolu_2","name":"shell","input":{}}`
	result    = `{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}`
	result2   = `{"type":"tool_result","tool_use_id":"toolu_2","content":"ok"}`
)

func msg(role string, blocks ...string) string {
	return fmt.Sprintf(`{"role":%q,"content":[%s]}`, role, strings.Join(blocks, ","))
}

const searchUse = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"go"}}`

// search is a request with one of the provider's own tools.
func search(tool, messages string) string {
	return strings.Replace(messagesBody(messages), `"stream"`, `"tools":[`+tool+`],"stream"`, 1)
}

func TestMessagesRules(t *testing.T) {
	text := `{"type":"text","text":"words"}`
	missing := "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1"
	checkRefusals(t, "/v1/messages", []refusal{
		{"plain", messagesBody(user), ""},
		{"conversation", messagesBody(user + "," + assistant + "," + user), ""},
		{"calls", messagesBody(user + "," + msg("assistant", text, toolUse, toolUse2) + "," + msg("user", result, result2, text)), ""},
		{"no max_tokens", `{"model":"m","messages":[` + user + `]}`, "max_tokens: Field required"},
		{"max_tokens too large", `{"model":"m","max_tokens":1001,"messages":[` + user + `]}`, "max_tokens: 1001 > 1000, which is the maximum allowed number of output tokens for m"},
		{"prompt too long", messagesBody(fmt.Sprintf(`{"role":"user","content":%q}`, strings.Repeat("word ", window))), "prompt is too long: "},
		{"no room for the answer", messagesBody(fmt.Sprintf(`{"role":"user","content":%q}`, strings.Repeat("word", window-60))), "exceed context limit"},
		{"unknown model", strings.Replace(messagesBody(user), `"m"`, `"other"`, 1), "model: other"},
		{"max_tokens of another type", `{"model":"m","max_tokens":"many","messages":[` + user + `]}`, "max_tokens: Input should be a valid int"},
		{"max_tokens of nothing", `{"model":"m","max_tokens":0,"messages":[` + user + `]}`, "max_tokens: Input should be greater than or equal to 1"},
		{"no model", strings.Replace(messagesBody(user), `"m"`, `""`, 1), "model: Field required"},
		{"no messages", messagesBody(""), "at least one message is required"},
		{"not JSON", `{"model":`, "not valid JSON"},
		{"call without output", messagesBody(user + "," + msg("assistant", toolUse)), "messages.1: " + missing},
		{"call answered by text", messagesBody(user + "," + msg("assistant", toolUse) + "," + user), "messages.1: " + missing},
		{"one of two calls answered", messagesBody(user + "," + msg("assistant", toolUse, toolUse2) + "," + msg("user", result2)), missing},
		{"output too late", messagesBody(user + "," + msg("assistant", toolUse) + "," + user + "," + assistant + "," + msg("user", result)), missing},
		{"text before the output", messagesBody(user + "," + msg("assistant", toolUse) + "," + msg("user", text, result)), missing},
		{"text after the call", messagesBody(user + "," + msg("assistant", toolUse, text) + "," + msg("user", result)), missing},
		{"output without call", messagesBody(msg("user", result)), "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1"},
		{"two outputs", messagesBody(user + "," + msg("assistant", toolUse) + "," + msg("user", result, result)), "each tool_use must have a single result"},
		{"same id twice", messagesBody(user + "," + msg("assistant", toolUse, toolUse) + "," + msg("user", result)), "`tool_use` ids must be unique"},
		{"same id in another message", messagesBody(user + "," + msg("assistant", toolUse) + "," + msg("user", result) + "," + msg("assistant", toolUse) + "," + msg("user", result)), "`tool_use` ids must be unique"},
		{"bad id", messagesBody(user + "," + msg("assistant", strings.Replace(toolUse, "toolu_1", "a.b", 1)) + "," + msg("user", strings.Replace(result, "toolu_1", "a.b", 1))), "tool_use.id: String should match pattern"},
		{"empty id", messagesBody(user + "," + msg("assistant", strings.Replace(toolUse, "toolu_1", "", 1)) + "," + msg("user", strings.Replace(result, "toolu_1", "", 1))), "tool_use.id: String should match pattern"},
		{"no name", messagesBody(user + "," + msg("assistant", strings.Replace(toolUse, "shell", "", 1)) + "," + msg("user", result)), "tool_use.name: String should have at least 1 character"},
		{"input not an object", messagesBody(user + "," + msg("assistant", strings.Replace(toolUse, "{}", `"x"`, 1)) + "," + msg("user", result)), "tool_use.input: Input should be a valid dictionary"},
		{"empty text block", messagesBody(msg("user", `{"type":"text","text":""}`)), "text content blocks must be non-empty"},
		{"blank text block", messagesBody(msg("user", `{"type":"text","text":" \n"}`)), "text content blocks must contain non-whitespace text"},
		{"empty message", messagesBody(`{"role":"user","content":""}`), "messages.0: user messages must have non-empty content"},
		{"no blocks", messagesBody(user + `,{"role":"assistant","content":[]},` + user), "messages.1: all messages must have non-empty content except for the optional final assistant message"},
		{"empty output", messagesBody(user + "," + msg("assistant", toolUse) + "," + msg("user", strings.Replace(result, `"ok"`, `""`, 1))), ""},
		{"empty text in an output", messagesBody(user + "," + msg("assistant", toolUse) + "," + msg("user", strings.Replace(result, `"ok"`, `[{"type":"text","text":""}]`, 1))), "text content blocks must be non-empty"},
		{"trailing assistant", messagesBody(user + "," + assistant), "This model does not support assistant message prefill. The conversation must end with a user message."},
		{"two users", messagesBody(user + "," + user), `roles must alternate between "user" and "assistant", but found multiple "user" roles in a row`},
		{"two assistants", messagesBody(user + "," + assistant + "," + assistant + "," + user), `found multiple "assistant" roles`},
		{"assistant first", messagesBody(assistant + "," + user), `first message must use the "user" role`},
		{"system role", messagesBody(`{"role":"system","content":"x"},` + user), `Unexpected role "system"`},
		{"unsigned thinking", messagesBody(user + "," + msg("assistant", `{"type":"thinking","thinking":"hm"}`, text) + "," + user), "messages.1.content.0.thinking.signature: Field required"},
		{"foreign thinking", messagesBody(user + "," + msg("assistant", `{"type":"thinking","thinking":"hm","signature":"abc"}`, text) + "," + user), "messages.1.content.0: Invalid `signature` in `thinking` block"},
		{"foreign redacted thinking", messagesBody(user + "," + msg("assistant", `{"type":"redacted_thinking","data":"abc"}`, text) + "," + user), "Invalid `data` in `redacted_thinking` block"},
		{"unknown block", messagesBody(msg("user", `{"type":"weird"}`)), "Input tag 'weird' found using 'type'"},
		{"call of a user", messagesBody(msg("user", toolUse)), "`tool_use` blocks can only be in `assistant` messages"},
		{"a search", search(`{"type":"web_search_20250305","name":"web_search","max_uses":5}`, user), ""},
		{"a search of no known version", search(`{"type":"web_search_1","name":"web_search"}`, user), "Input tag 'web_search_1'"},
		{"a search with another name", search(`{"type":"web_search_20250305","name":"search"}`, user), "Input should be 'web_search'"},
		{"a search with a schema", search(`{"type":"web_search_20250305","name":"web_search","input_schema":{}}`, user), "Extra inputs are not permitted"},
		{"a search without its result", messagesBody(user + "," + msg("assistant", searchUse) + "," + user), "was found without a corresponding `web_search_tool_result` block"},
		{"a search that failed", messagesBody(user + "," + msg("assistant", searchUse, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"web_search_tool_result_error","error_code":"unavailable"}}`) + "," + user), ""},
		{"results of nobody's", messagesBody(user + "," + msg("assistant", searchUse, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"u","title":"t","encrypted_content":"forged"}]}`) + "," + user), "Invalid `encrypted_content`"},
		{"results without what was encrypted", messagesBody(user + "," + msg("assistant", searchUse, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"u","title":"t"}]}`) + "," + user), "encrypted_content: Field required"},
		{"a search of the user's", messagesBody(msg("user", searchUse)), "can only be in `assistant` messages"},
		{"tools of one name", `{"model":"m","max_tokens":9,"tools":[{"name":"a","input_schema":{}},{"name":"a","input_schema":{}}],"messages":[` + user + `]}`, "Tool names must be unique"},
		{"bad tool name", `{"model":"m","max_tokens":9,"tools":[{"name":"a b","input_schema":{}}],"messages":[` + user + `]}`, "tools.0.custom.name: String should match pattern"},
		{"budget above max_tokens", `{"model":"m","max_tokens":900,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[` + user + `]}`, "`max_tokens` must be greater than `thinking.budget_tokens`"},
	})
}

func responsesBody(items ...string) string {
	return `{"model":"m","store":false,"stream":true,"input":[` + strings.Join(items, ",") + `]}`
}

func TestResponsesRules(t *testing.T) {
	const (
		call   = `{"type":"function_call","call_id":"call_1","name":"shell","arguments":"{}"}`
		output = `{"type":"function_call_output","call_id":"call_1","output":"ok"}`
		custom = `{"type":"custom_tool_call","call_id":"call_2","name":"apply_patch","input":"not JSON"}`
		done   = `{"type":"custom_tool_call_output","call_id":"call_2","output":""}`
	)
	replace := func(s, old, with string) string { return strings.Replace(s, old, with, 1) }
	checkRefusals(t, "/v1/responses", []refusal{
		{"text", `{"model":"m","store":false,"stream":true,"input":"hi"}`, ""},
		{"conversation", responsesBody(user, assistant, user, call, custom, output, done, user, user), ""},
		{"trailing assistant", responsesBody(user, assistant), ""},
		{"store", `{"model":"m","input":"hi"}`, "Store must be set to false"},
		{"previous response", `{"model":"m","store":false,"previous_response_id":"resp_1","input":"hi"}`, "Previous response with id 'resp_1' not found."},
		{"unknown model", replace(responsesBody(user), `"m"`, `"other"`), "The model `other` does not exist or you do not have access to it."},
		{"model of another type", replace(responsesBody(user), `"m"`, `7`), "Invalid type for 'model': expected string, but got number instead."},
		{"item of another type", responsesBody(`7`), "Invalid type for ''"},
		{"no input", responsesBody(), "must be provided"},
		{"not JSON", `{`, "We could not parse the JSON body of your request."},
		{"output limit too small", replace(responsesBody(user), `"stream"`, `"max_output_tokens":5,"stream"`), "Expected a value >= 16, but got 5 instead."},
		{"output limit too large", replace(responsesBody(user), `"stream"`, `"max_output_tokens":1001,"stream"`), "Expected a value <= 1000, but got 1001 instead."},
		{"input too long", responsesBody(fmt.Sprintf(`{"role":"user","content":%q}`, strings.Repeat("word ", window))), "Your input exceeds the context window of this model."},
		{"call without output", responsesBody(user, call), "No tool output found for function call call_1."},
		{"custom call without output", responsesBody(user, custom), "No tool output found for function call call_2."},
		{"output without call", responsesBody(user, output), "No tool call found for function call output with call_id call_1."},
		{"output before call", responsesBody(user, output, call), "No tool call found for function call output with call_id call_1."},
		{"same call twice", responsesBody(call, call, output), "Duplicate item found with id call_1."},
		{"same output twice", responsesBody(call, output, output), "Duplicate item found with id call_1."},
		{"same item twice", responsesBody(replace(call, `"call_id"`, `"id":"fc_1","call_id"`), replace(replace(call, "call_1", "call_2"), `"call_id"`, `"id":"fc_1","call_id"`)), "Duplicate item found with id fc_1. Remove duplicate items from your input and try again."},
		{"empty call id", responsesBody(replace(call, "call_1", "")), "Invalid 'input[0].call_id': empty string."},
		{"long call id", responsesBody(replace(call, "call_1", strings.Repeat("x", 65))), "Expected a string with maximum length 64, but got a string with length 65 instead."},
		{"bad name", responsesBody(replace(call, "shell", "a b")), "Invalid 'input[0].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."},
		{"bad arguments", responsesBody(replace(call, "{}", "{")), "Invalid 'input[0].arguments'"},
		{"bad id", responsesBody(replace(call, `"call_id"`, `"id":"x_1","call_id"`)), "Invalid 'input[0].id': 'x_1'. Expected an ID that begins with 'fc'."},
		{"empty text", responsesBody(`{"role":"user","content":""}`), "Invalid 'input[0].content': empty string."},
		{"empty part", responsesBody(`{"role":"user","content":[{"type":"input_text","text":""}]}`), "Invalid 'input[0].content[0].text': empty string."},
		{"part of the wrong role", responsesBody(`{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`), "Invalid value: 'input_text'. Supported values are: 'output_text', 'refusal'."},
		{"unknown item", responsesBody(`{"type":"weird"}`), "Invalid value: 'weird'."},
		{"unknown role", responsesBody(`{"role":"weird","content":"x"}`), "Invalid value: 'weird'."},
		{"reasoning not kept", responsesBody(`{"type":"reasoning","id":"rs_9","summary":[]}`, assistant, user), "Item with id 'rs_9' not found. Items are not persisted when `store` is set to false."},
		{"foreign reasoning", responsesBody(`{"type":"reasoning","id":"rs_9","summary":[],"encrypted_content":"gAAA"}`, assistant, user), "could not be verified"},
		{"no summary", responsesBody(`{"type":"reasoning","id":"rs_9","encrypted_content":"gAAA"}`, assistant, user), "Missing required parameter: 'input[0].summary'."},
		{"a search", replace(responsesBody(user), `"stream"`, `"tools":[{"type":"web_search"}],"stream"`), ""},
		{"no tool that there is", replace(responsesBody(user), `"stream"`, `"tools":[{"type":"web_find"}],"stream"`), "Invalid value: 'web_find'"},
		{"bad tool schema", replace(responsesBody(user), `"stream"`, `"tools":[{"type":"function","name":"a","parameters":{}}],"stream"`), "Invalid schema for function 'a'"},
		{"bad tool name", replace(responsesBody(user), `"stream"`, `"tools":[{"type":"function","name":"","parameters":null}],"stream"`), "Invalid 'tools[0].name': empty string."},
	})
}

func chatBody(messages ...string) string {
	return `{"model":"m","stream":true,"messages":[` + strings.Join(messages, ",") + `]}`
}

func TestChatRules(t *testing.T) {
	const (
		system = `{"role":"system","content":"be brief"}`
		call   = `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"shell","arguments":"{}"}}]}`
		output = `{"role":"tool","tool_call_id":"call_1","content":""}`
	)
	replace := func(s, old, with string) string { return strings.ReplaceAll(s, old, with) }
	missing := "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1"
	checkRefusals(t, "/v1/chat/completions", []refusal{
		{"plain", chatBody(user), ""},
		{"conversation", chatBody(system, user, assistant, user, call, output, assistant, user), ""},
		{"user after output", chatBody(system, user, call, output, user), ""},
		{"call without output", chatBody(user, call), missing},
		{"call answered by text", chatBody(user, call, user), missing},
		{"output without call", chatBody(user, output), "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."},
		{"output of another call", chatBody(user, call, replace(output, "call_1", "call_2")), "'tool_call_id' of 'call_2' not found in 'tool_calls' of previous message."},
		{"two outputs", chatBody(user, call, output, output), "Duplicate value for 'tool_call_id' of 'call_1'"},
		{"same id twice", chatBody(user, call, output, call, output), "Duplicate value for 'tool_calls[].id' of 'call_1'"},
		{"empty id", chatBody(user, replace(call, "call_1", ""), replace(output, "call_1", "")), "Invalid 'messages[1].tool_calls[0].id': empty string."},
		{"long id", chatBody(user, replace(call, "call_1", strings.Repeat("x", 65)), output), "maximum length 64, but got a string with length 65 instead."},
		{"bad name", chatBody(user, replace(call, "shell", "a.b"), output), "Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern."},
		{"bad arguments", chatBody(user, replace(call, "{}", "{"), output), "Invalid 'messages[1].tool_calls[0].function.arguments'"},
		{"null content", chatBody(user, `{"role":"assistant","content":null}`, user), "Invalid value for 'content': expected a string, got null."},
		{"empty content", chatBody(`{"role":"user","content":""}`), "Invalid 'messages[0].content': empty string."},
		{"empty part", chatBody(`{"role":"user","content":[{"type":"text","text":" "}]}`), "Invalid 'messages[0].content[0].text': empty string."},
		{"no parts", chatBody(`{"role":"user","content":[]}`), "Invalid 'messages[0].content': empty array."},
		{"two users", chatBody(user, user), "Conversation roles must alternate user/assistant/user/assistant/..."},
		{"system later", chatBody(user, system), "Conversation roles must alternate"},
		{"trailing assistant", chatBody(user, assistant), "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"},
		{"unknown role", chatBody(`{"role":"weird","content":"x"}`), "Invalid value: 'weird'."},
		{"no messages", chatBody(), "Invalid 'messages': empty array."},
		{"unknown model", replace(chatBody(user), `"m"`, `"other"`), "The model `other` does not exist"},
		{"limit too large", replace(chatBody(user), `"stream"`, `"max_tokens":1001,"stream"`), "max_tokens is too large: 1001. This model supports at most 1000 completion tokens, whereas you provided 1001."},
		{"limit too small", replace(chatBody(user), `"stream"`, `"max_completion_tokens":0,"stream"`), "Invalid 'max_completion_tokens': integer below minimum value."},
		{"too long", chatBody(fmt.Sprintf(`{"role":"user","content":%q}`, strings.Repeat("word ", window))), "This model's maximum context length is 2000 tokens."},
		{"altered details", chatBody(user, `{"role":"assistant","content":"x","reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"abc"}]}`, user), "Invalid `signature` in `thinking` block"},
	})
}

func TestRulesCanBeLoosened(t *testing.T) {
	loose := modeltest.Rules{AllowPrefill: true, AllowRepeatedRoles: true, AllowEmptyText: true}
	off := modeltest.Rules{Off: true}
	tests := []struct {
		rules      modeltest.Rules
		path, body string
	}{
		{loose, "/v1/messages", messagesBody(user + "," + user + "," + assistant)},
		{loose, "/v1/messages", messagesBody(msg("user", `{"type":"text","text":""}`))},
		{loose, "/v1/chat/completions", chatBody(user, user, assistant)},
		{loose, "/v1/responses", `{"model":"m","input":""}`},
		{off, "/v1/messages", `{}`},
		{off, "/v1/responses", `{"input":[{"type":"function_call"}]}`},
		{off, "/v1/chat/completions", chatBody(assistant)},
	}
	for _, test := range tests {
		srv := modeltest.NewServer(t, modeltest.Scenario{Rules: test.rules, Turns: []modeltest.Turn{modeltest.Say("fine")}})
		if a := ask(t.Context(), srv, test.path, test.body); a.status != 200 {
			t.Errorf("%s %s: %d %s", test.path, test.body, a.status, a.body)
		}
	}
}

func TestKeys(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Scenario{Rules: modeltest.Rules{Keys: []string{"sk-right-key"}}})
	tests := []struct {
		path, header, value, want string
	}{
		{"/v1/messages", "X-Api-Key", "", "x-api-key header is required"},
		{"/v1/messages", "X-Api-Key", "sk-wrong-key", "invalid x-api-key"},
		{"/v1/messages", "X-Api-Key", "sk-right-key", "anthropic-version: header is required"},
		{"/v1/responses", "Authorization", "", "You didn't provide an API key."},
		{"/v1/responses", "Authorization", "Bearer sk-wrong-key", "Incorrect API key provided: sk-w****-key."},
		{"/v1/responses", "Authorization", "Bearer sk-right-key", "no turn"},
		{"/v1/chat/completions", "Authorization", "Bearer ", "You didn't provide an API key."},
	}
	for _, test := range tests {
		for _, d := range dialects {
			if d.path != test.path {
				continue
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+test.path, strings.NewReader(d.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set(test.header, test.value)
			res, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || !strings.Contains(string(raw), test.want) {
				t.Errorf("%s %q: want %q, got %d %s (%v)", test.path, test.value, test.want, res.StatusCode, raw, err)
			}
			if denied := res.StatusCode == http.StatusUnauthorized; denied != (test.value != "sk-right-key" && test.value != "Bearer sk-right-key") {
				t.Errorf("%s %q: status %d", test.path, test.value, res.StatusCode)
			}
		}
	}
}

// unstreamed requests a response without a stream and returns it.
func unstreamed(t *testing.T, srv *modeltest.Server, path, body string) map[string]any {
	t.Helper()
	a := ask(t.Context(), srv, path, strings.Replace(body, `"stream":true`, `"include":["reasoning.encrypted_content"]`, 1))
	var v map[string]any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil || a.status != 200 {
		t.Fatalf("%d %s (%v)", a.status, a.body, err)
	}
	return v
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The server knows its own thinking again, and only that.
func TestThinkingComesBackUnaltered(t *testing.T) {
	turn := modeltest.Reply(modeltest.Think("hm"), modeltest.Item{Reasoning: "secret", Redacted: true}, modeltest.Call("shell", "{}"))
	srv := modeltest.NewServer(t, modeltest.Scenario{
		Turns:  []modeltest.Turn{turn, modeltest.Reply(modeltest.Call("shell", "{}"))},
		Answer: func(modeltest.Request) modeltest.Turn { return modeltest.Say("fine") },
	})
	first := unstreamed(t, srv, "/v1/messages", messagesBody(user))
	plain := unstreamed(t, srv, "/v1/messages", messagesBody(user))
	blocks := first["content"].([]any)
	id := blocks[2].(map[string]any)["id"].(string)
	plainID := plain["content"].([]any)[0].(map[string]any)["id"].(string)
	back := func(id string, blocks any) string {
		return strings.Replace(messagesBody(user+`,{"role":"assistant","content":`+asJSON(t, blocks)+`},`+
			msg("user", strings.Replace(result, "toolu_1", id, 1))), `"max_tokens":100`, `"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024}`, 1)
	}
	altered := strings.Replace(back(id, blocks), `"thinking":"hm"`, `"thinking":"hmm"`, 1)
	elsewhere := modeltest.NewServer(t, modeltest.Script(modeltest.Say("fine")))
	for _, test := range []struct {
		name, body, want string
		srv              *modeltest.Server
	}{
		{"as it came", back(id, blocks), "", srv},
		{"to a server that never saw it", back(id, blocks), "", elsewhere},
		{"altered", altered, "blocks in the latest assistant message cannot be modified", srv},
		{"dropped", back(id, blocks[2:]), "Expected `thinking` or `redacted_thinking`, but found `tool_use`", srv},
		{"never there", back(plainID, plain["content"]), "", srv},
	} {
		a := ask(t.Context(), test.srv, "/v1/messages", test.body)
		if ok := a.status == 200; ok != (test.want == "") || !strings.Contains(a.body, test.want) {
			t.Errorf("%s: want %q, got %d %s", test.name, test.want, a.status, a.body)
		}
	}
}

// Reasoning items go together with the items that followed them, unaltered.
func TestReasoningItemsComeBack(t *testing.T) {
	turn := modeltest.Reply(modeltest.Think("hm"), modeltest.Call("shell", "{}"), modeltest.Call("shell", "{}"))
	srv := modeltest.NewServer(t, modeltest.Scenario{
		Turns:  []modeltest.Turn{turn},
		Answer: func(modeltest.Request) modeltest.Turn { return modeltest.Say("fine") },
	})
	items := unstreamed(t, srv, "/v1/responses", responsesBody(user))["output"].([]any)
	reasoning, call, other := asJSON(t, items[0]), asJSON(t, items[1]), asJSON(t, items[2])
	output := func(item any) string {
		return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"ok"}`, item.(map[string]any)["call_id"])
	}
	out, otherOut := output(items[1]), output(items[2])
	unfinished := map[string]any{"type": "reasoning", "id": items[0].(map[string]any)["id"], "summary": []any{}}
	a := ask(t.Context(), srv, "/v1/responses", strings.Replace(responsesBody(user), `"store"`, `"include":["reasoning.encrypted_content"],"store"`, 1))
	if a.status != 200 {
		t.Fatal(a.body)
	}
	for _, test := range []struct {
		name, want string
		items      []string
	}{
		{"as they came", "", []string{user, reasoning, call, other, out, otherOut}},
		{"a call without its reasoning and without id", "", []string{user, strings.Replace(call, `"id":"fc`, `"old":"fc`, 1), out}},
		{"at the end", "provided without its required following item", []string{user, reasoning}},
		{"before a user", "provided without its required following item", []string{user, reasoning, user}},
		{"before another call", "provided without its required following item", []string{user, reasoning, other, otherOut}},
		{"call without its reasoning", "provided without its required 'reasoning' item: 'rs_", []string{user, call, out}},
		{"without content", "not found", []string{user, asJSON(t, unfinished), call, out}},
		{"altered", "could not be verified. Reason: Encrypted content could not be decrypted or parsed.", []string{user, strings.Replace(reasoning, "gAAAA", "gAAAAx", 1), call, out}},
		{"of another item", "could not be verified", []string{user, strings.Replace(reasoning, `"id":"rs_`, `"id":"rs_x`, 1), call, out}},
	} {
		a := ask(t.Context(), srv, "/v1/responses", responsesBody(test.items...))
		if ok := a.status == 200; ok != (test.want == "") || !strings.Contains(a.body, test.want) {
			t.Errorf("%s: want %q, got %d %s", test.name, test.want, a.status, a.body)
		}
	}
}

// The encrypted content in output_item.added is not yet the final content.
func TestUnfinishedReasoningIsRefused(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(modeltest.Think("hm"), modeltest.Text("x")), modeltest.Say("fine")))
	a := ask(t.Context(), srv, "/v1/responses", strings.Replace(responsesBody(user), `"store"`, `"include":["reasoning.encrypted_content"],"store"`, 1))
	var added string
	for _, line := range dataLines(a.body, "\n") {
		var e struct {
			Type string
			Item json.RawMessage
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Type == "response.output_item.added" && added == "" {
			added = string(e.Item)
		}
	}
	if !strings.Contains(added, "encrypted_content") {
		t.Fatalf("the item has no content: %s", added)
	}
	a = ask(t.Context(), srv, "/v1/responses", responsesBody(user, added, assistant, user))
	if a.status != 400 || !strings.Contains(a.body, "could not be verified") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestReasoningDetailsComeBack(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Think("a longer thought than one chunk"), modeltest.Text("x")).With(modeltest.Quirk(modeltest.FaultReasoningDetails)),
		modeltest.Say("fine"),
	))
	a := ask(t.Context(), srv, "/v1/chat/completions", chatBody(user))
	var details []any
	for _, line := range dataLines(a.body, "\n") {
		var e struct {
			Choices []struct {
				Delta struct {
					Details []any `json:"reasoning_details"`
				}
			}
		}
		if json.Unmarshal([]byte(line), &e) == nil && len(e.Choices) > 0 {
			details = append(details, e.Choices[0].Delta.Details...)
		}
	}
	if len(details) != 4 {
		t.Fatalf("%d details in %s", len(details), a.body)
	}
	a = ask(t.Context(), srv, "/v1/chat/completions",
		chatBody(user, `{"role":"assistant","content":"x","reasoning_details":`+asJSON(t, details)+`}`, user))
	if a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestWrongPath(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Say("x")))
	a := ask(t.Context(), srv, "/chat/completions", chatBody(user))
	if a.status != 404 || !strings.Contains(a.body, "Invalid URL (POST /chat/completions)") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if diff := cmp.Diff([]string{"Invalid URL (POST /chat/completions)"}, srv.Refusals()); diff != "" {
		t.Error(diff)
	}
}

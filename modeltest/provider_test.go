package modeltest_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// TestProviderRules: each rule refuses in its provider's words, and a server
// that stands for no provider takes the same request.
func TestProviderRules(t *testing.T) {
	const (
		call   = `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"shell","arguments":"{}"}}]}`
		output = `{"role":"tool","tool_call_id":"call_1","content":"ok"}`
	)
	with := func(field string) string { return strings.Replace(call, `"content"`, field+`,"content"`, 1) }
	renamed := func(id string) string { return strings.ReplaceAll(chatBody(user, call, output), "call_1", id) }
	marked := `{"role":"user","content":[` + strings.Repeat(
		`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 4,
	) + `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}`
	fc := func(id string) string {
		return `{"type":"function_call","call_id":"` + id + `","name":"shell","arguments":"{}"}`
	}
	out := func(id string) string {
		return `{"type":"function_call_output","call_id":"` + id + `","output":"ok"}`
	}
	signed := func(signature string) string {
		return strings.Replace(
			call, `"type":"function",`,
			`"type":"function","extra_content":{"google":{"thought_signature":"`+signature+`"}},`, 1,
		)
	}
	type bodies struct{ says, bad, words, good string }
	for provider, list := range map[string][]bodies{
		"mistral": {
			{"nine letters and digits", chatBody(user, call, output), "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.", renamed("Abc123xyZ")},
			{"no user's message follows", strings.ReplaceAll(chatBody(user, call, output, user), "call_1", "Abc123xyZ"), "Unexpected role 'user' after role 'tool'", renamed("Abc123xyZ")},
		},
		"vllm":       {{"take turns", chatBody(user, user), "After the optional system message, conversation roles must alternate", chatBody(user)}},
		"perplexity": {{"take turns", chatBody(user, user), "user and assistant roles should be alternating.", chatBody(user)}},
		"deepseek": {
			{"has reasoning_content", chatBody(user, call, output), "Missing `reasoning_content` field in the assistant message at message index 1.", chatBody(user, with(`"reasoning_content":"Hm."`), output)},
			{"between the calls", responsesBody(user, fc("a"), `{"role":"assistant","type":"message","content":"x"}`, fc("b"), out("a"), out("b")), "No tool output found for tool call a.", responsesBody(user, fc("a"), fc("b"), out("a"), out("b"))},
			{"has thinking", messagesBody(user + "," + msg("assistant", toolUse) + "," + msg("user", result)), "The `content[].thinking` in the thinking mode must be passed back to the API.", messagesBody(user + "," + msg("assistant", `{"type":"thinking","thinking":"Hm."}`, toolUse) + "," + msg("user", result))},
		},
		"moonshot": {{"which is not empty", chatBody(user, with(`"reasoning_content":""`), output), "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1", chatBody(user, with(`"reasoning_content":"Hm."`), output)}},
		"gemini": {
			{"has a thought_signature", chatBody(user, call, output), "Function call is missing a thought_signature in functionCall parts.", chatBody(user, signed("skip_thought_signature_validator"), output)},
			{"Gemini's own", chatBody(user, signed("another's"), output), "Thought signature is not valid.", chatBody(user, signed("skip_thought_signature_validator"), output)},
		},
		"groq": {
			{"no message has reasoning_content", chatBody(user, with(`"reasoning_content":"Hm."`), output), "property 'reasoning_content' is unsupported", chatBody(user, call, output)},
			{"no message has reasoning", chatBody(user, with(`"reasoning":"Hm."`), output), "property 'reasoning' is unsupported", chatBody(user, call, output)},
		},
		"cerebras": {{"reasoning_content", chatBody(user, with(`"reasoning_content":"Hm."`), output), "property 'messages.1.assistant.reasoning_content' is unsupported", chatBody(user, with(`"reasoning":"Hm."`), output)}},
		"xai":      {{"only an empty text", chatBody(user, call, output), "Each message must have at least one content element.", chatBody(user, strings.Replace(call, "null", `""`, 1), output)}},
		"bedrock": {
			{"64 characters", renamed(strings.Repeat("x", 65)), "Member must have length less than or equal to 64", chatBody(user, call, output)},
			{"_, ., : and -", renamed("a/b"), "Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+", renamed("functions.shell:0")},
			{"a text is not empty", chatBody(user, strings.Replace(call, "null", `""`, 1), output), "text content blocks must be non-empty", chatBody(user, call, output)},
		},
		"minimax": {
			{"follows its call", chatBody(user, call, strings.Replace(output, "call_1", "call_2", 1)), "invalid params, tool result's tool id(call_2) not found (2013)", chatBody(user, call, output)},
			{"arguments are JSON", chatBody(user, strings.Replace(call, "{}", "{", 1), output), "invalid function arguments json string, tool_call_id: call_1 (2013)", chatBody(user, call, output)},
		},
		"qwen":       {{"a JSON object", chatBody(user, strings.Replace(call, "{}", "[]", 1), output), `parameter of the code model must be in JSON format.`, chatBody(user, call, output)}},
		"glm":        {{"a user says something", chatBody(call, output), "The messages parameter is illegal.", chatBody(user, call, output)}},
		"openrouter": {{"four places", chatBody(marked), "A maximum of 4 blocks with cache_control may be provided. Found 5.", chatBody(user)}},
	} {
		var rules []modeltest.ProviderRule
		for _, rule := range modeltest.ProviderRules() {
			if rule.Provider == provider {
				rules = append(rules, rule)
			}
		}
		if len(rules) != len(list) {
			t.Errorf("%s has %d rules, of which %d are tested", provider, len(rules), len(list))
			continue
		}
		for n, tt := range list {
			rule := rules[n]
			t.Run(provider+"/"+rule.Says, func(t *testing.T) {
				if !strings.Contains(rule.Says, tt.says) || !strings.HasPrefix(rule.Source, "https://github.com/") {
					t.Errorf("the rule is %+v", rule)
				}
				path := map[modeltest.Dialect]string{modeltest.Chat: "/v1/chat/completions", modeltest.Responses: "/v1/responses", modeltest.Messages: "/v1/messages"}[rule.Dialect]
				server := modeltest.NewServer(
					t,
					modeltest.Scenario{
						Rules: modeltest.Rules{Provider: provider},
						Turns: []modeltest.Turn{modeltest.Say("fine")},
					},
				)
				if a := ask(t.Context(), server, path, tt.bad); a.status != 400 ||
					!strings.Contains(strings.ReplaceAll(a.body, `\"`, `"`), tt.words) {
					t.Errorf("refused with %d %s, want %q", a.status, a.body, tt.words)
				}
				if a := ask(t.Context(), server, path, tt.good); a.status != 200 {
					t.Errorf("the good request is refused: %d %s", a.status, a.body)
				}
			})
		}
	}
}

package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// ProviderRule is a requirement of one provider that OpenAI's API does not have, and that has
// refused a user's conversation. Each rule is from a public report.
type ProviderRule struct {
	// Provider is a name for [Rules].Provider.
	Provider string
	Dialect  Dialect
	// Says is the requirement in words; Source is the report of a refused conversation.
	Says, Source string

	chat      func(*Server, *chatRequest) *apiError
	responses func(*responsesRequest) *apiError
	messages  func(*messagesRequest) *apiError
}

// chatRule is a rule of Chat Completions, with a thread on GitHub as its source.
func chatRule(provider, says, source string, check func(*Server, *chatRequest) *apiError) ProviderRule {
	return ProviderRule{
		Provider: provider,
		Dialect:  Chat,
		Says:     says,
		Source:   "https://github.com/" + source,
		chat:     check,
	}
}

// ProviderRules returns all provider rules.
func ProviderRules() []ProviderRule {
	of := chatRule
	return []ProviderRule{
		of("mistral", "a call's id has nine letters and digits", "anomalyco/opencode/issues/1680", mistralIDs),
		of("mistral", "no user's message follows a tool's", "datapizza-labs/datapizza-ai/issues/98", mistralOrder),
		of(
			"vllm",
			"user and assistant take turns",
			"vllm-project/vllm/issues/6862",
			inTurns(
				"After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
			),
		),
		of(
			"perplexity", "user and assistant take turns", "perplexityai/api-discussion/issues/265",
			inTurns("After the (optional) system message(s), user and assistant roles should be alternating."),
		),
		of(
			"deepseek", "an assistant's message has reasoning_content", "continuedev/continue/issues/11285",
			deepseekThinks,
		),
		{
			Provider:  "deepseek",
			Dialect:   Responses,
			Says:      "nothing stands between the calls of a response",
			Source:    "https://github.com/pydantic/pydantic-ai (test_deepseek_responses_rejects_interleaved_function_calls)",
			responses: deepseekGroups,
		},
		{
			Provider: "deepseek", Dialect: Messages, Says: "an assistant's message that calls has thinking",
			Source: "https://github.com/esengine/DeepSeek-Reasonix/issues/8902", messages: deepseekThinksToo,
		},
		of(
			"moonshot", "an assistant's message that calls has reasoning_content, which is not empty",
			"anomalyco/opencode/issues/10996", moonshotThinks,
		),
		of(
			"gemini", "the first call of a message has a thought_signature", "securo-finance/securo/issues/884",
			geminiSigns,
		),
		of("gemini", "a thought_signature is Gemini's own", "langchain-ai/langchain-google/pull/1581", geminiOwns),
		of("groq", "no message has reasoning_content", "janhq/jan/issues/8136", groqField("reasoning_content")),
		of("groq", "no message has reasoning", "karthink/gptel/issues/774", groqField("reasoning")),
		of("cerebras", "no message has reasoning_content", "Kilo-Org/kilocode/issues/10375", cerebrasField),
		of("xai", "a message has content, if only an empty text", "langchain-ai/langchain/issues/34140", xaiContent),
		of("bedrock", "a call's id has 64 characters at most", "BerriAI/litellm/issues/34239", bedrockLength),
		of("bedrock", "a call's id is of letters, digits, _, ., : and -", "tontinton/maki/issues/38", bedrockPattern),
		of("bedrock", "a text is not empty", "vercel/ai/pull/14618", bedrockText),
		of("minimax", "an output follows its call", "MiniMax-AI/MiniMax-M2/issues/76", minimaxOutputs),
		of("minimax", "a call's arguments are JSON", "earendil-works/pi/issues/5468", minimaxArguments),
		of("qwen", "a call's arguments are a JSON object", "HKUDS/nanobot/issues/1487", qwenArguments),
		of("glm", "a user says something", "anomalyco/opencode/issues/2557", glmUser),
		of("openrouter", "cache_control is at four places at most", "pydantic/pydantic-ai/pull/4604", openrouterCache),
	}
}

// checkProvider applies the rules of the provider that the server imitates.
func (s *Server) checkProvider(check func(ProviderRule) *apiError) *apiError {
	if s.rules.Provider == "" {
		return nil
	}
	for _, rule := range ProviderRules() {
		if rule.Provider != s.rules.Provider {
			continue
		}
		if e := check(rule); e != nil {
			return e
		}
	}
	return nil
}

// eachCall asks about each call, by the number of its message.
func (req *chatRequest) eachCall(check func(i int, c chatCall) *apiError) *apiError {
	for i, m := range req.Messages {
		for _, c := range m.ToolCalls {
			if e := check(i, c); e != nil {
				return e
			}
		}
	}
	return nil
}

// eachAnswer asks about each assistant's message.
func (req *chatRequest) eachAnswer(check func(i int, m chatMessage) *apiError) *apiError {
	for i, m := range req.Messages {
		if m.Role == "assistant" {
			if e := check(i, m); e != nil {
				return e
			}
		}
	}
	return nil
}

func mistralIDs(_ *Server, req *chatRequest) *apiError {
	nine := regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	return req.eachCall(func(_ int, c chatCall) *apiError {
		if !nine.MatchString(c.ID) {
			return invalid("Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", c.ID).at("", "3280")
		}
		return nil
	})
}

func mistralOrder(_ *Server, req *chatRequest) *apiError {
	for i, m := range req.Messages {
		if i > 0 && m.Role == "user" && req.Messages[i-1].Role == "tool" {
			return invalid("Unexpected role 'user' after role 'tool'").at("", "3230")
		}
	}
	return nil
}

func inTurns(words string) func(*Server, *chatRequest) *apiError {
	return func(_ *Server, req *chatRequest) *apiError {
		before := ""
		for _, m := range req.Messages {
			if m.Role == before && (m.Role == "user" || m.Role == "assistant") {
				return invalid("%s", words)
			}
			before = m.Role
		}
		return nil
	}
}

func deepseekThinks(_ *Server, req *chatRequest) *apiError {
	return req.eachAnswer(func(i int, m chatMessage) *apiError {
		if m.ReasoningContent == nil {
			return invalid(
				"Missing `reasoning_content` field in the assistant message at message index %d. For more information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls",
				i,
			)
		}
		return nil
	})
}

func moonshotThinks(_ *Server, req *chatRequest) *apiError {
	return req.eachAnswer(func(i int, m chatMessage) *apiError {
		if len(m.ToolCalls) > 0 && (m.ReasoningContent == nil || *m.ReasoningContent == "") {
			return invalid(
				"thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", i,
			)
		}
		return nil
	})
}

func deepseekGroups(req *responsesRequest) *apiError {
	open, closed := "", false // the last call, and that something stands after it
	for _, it := range req.items {
		switch {
		case it.isCall() && closed:
			return invalid("No tool output found for tool call %s.", open)
		case it.isCall():
			open = it.CallID
		case it.isOutput():
			open, closed = "", false
		case open != "":
			closed = true
		}
	}
	return nil
}

func deepseekThinksToo(req *messagesRequest) *apiError {
	for _, m := range req.Messages {
		calls, thinks := false, false
		for _, b := range m.blocks {
			calls, thinks = calls ||
				b.Type == "tool_use", thinks || b.Type == "thinking" ||
				b.Type == "redacted_thinking"
		}
		if m.Role == "assistant" && calls && !thinks {
			return invalid("The `content[].thinking` in the thinking mode must be passed back to the API.")
		}
	}
	return nil
}

// noSignature is a value that Gemini accepts in place of the signature of a call that Gemini did
// not make.
const noSignature = "skip_thought_signature_validator"

func geminiSigns(_ *Server, req *chatRequest) *apiError {
	return req.eachAnswer(func(i int, m chatMessage) *apiError {
		if len(m.ToolCalls) > 0 && m.ToolCalls[0].Extra.Google.Signature == "" {
			return invalid(
				"Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
				m.ToolCalls[0].Function.Name,
				i,
			)
		}
		return nil
	})
}

func geminiOwns(s *Server, req *chatRequest) *apiError {
	return req.eachCall(func(_ int, c chatCall) *apiError {
		if sign := c.Extra.Google.Signature; sign != "" && sign != noSignature && !s.account().knownRedacted(sign) &&
			!s.issued.played(sign) {
			return invalid("Thought signature is not valid.")
		}
		return nil
	})
}

func groqField(name string) func(*Server, *chatRequest) *apiError {
	return func(_ *Server, req *chatRequest) *apiError {
		return req.eachAnswer(func(i int, m chatMessage) *apiError {
			if name == "reasoning" && m.Reasoning != nil || name == "reasoning_content" && m.ReasoningContent != nil {
				return invalid(
					"'messages.%d' : for 'role:assistant' the following must be satisfied[('messages.%d' : property '%s' is unsupported)]",
					i,
					i,
					name,
				)
			}
			return nil
		})
	}
}

func cerebrasField(_ *Server, req *chatRequest) *apiError {
	return req.eachAnswer(func(i int, m chatMessage) *apiError {
		if m.ReasoningContent != nil {
			at := fmt.Sprintf("messages.%d.assistant.reasoning_content", i)
			return invalid("%s: property '%s' is unsupported", at, at).at("validation_error", "wrong_api_format")
		}
		return nil
	})
}

func xaiContent(_ *Server, req *chatRequest) *apiError {
	for _, m := range req.Messages {
		if raw := string(bytes.TrimSpace(m.Content)); raw == "" || raw == "null" || raw == "[]" {
			return invalid("Invalid request content: Each message must have at least one content element.")
		}
	}
	return nil
}

func bedrockLength(_ *Server, req *chatRequest) *apiError {
	return req.eachCall(func(i int, c chatCall) *apiError {
		if len(c.ID) > 64 {
			return invalid(
				"BedrockException - 1 validation error detected: Value at 'messages.%d.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: Member must have length less than or equal to 64",
				i,
			)
		}
		return nil
	})
}

func bedrockPattern(_ *Server, req *chatRequest) *apiError {
	pattern := regexp.MustCompile(`^[a-zA-Z0-9_.:-]+$`)
	return req.eachCall(func(i int, c chatCall) *apiError {
		if !pattern.MatchString(c.ID) {
			return invalid(
				"Value at 'messages.%d.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+",
				i,
			)
		}
		return nil
	})
}

func bedrockText(_ *Server, req *chatRequest) *apiError {
	return req.eachAnswer(func(_ int, m chatMessage) *apiError {
		if content, ok := text(m.Content); ok && blank(content) {
			return invalid("ValidationException: messages: text content blocks must be non-empty")
		}
		return nil
	})
}

func minimaxOutputs(_ *Server, req *chatRequest) *apiError {
	known := map[string]bool{}
	for _, m := range req.Messages {
		if m.Role == "tool" && !known[m.ToolCallID] {
			return invalid("invalid params, tool result's tool id(%s) not found (2013)", m.ToolCallID)
		}
		if m.Role != "tool" {
			known = map[string]bool{}
		}
		for _, c := range m.ToolCalls {
			known[c.ID] = true
		}
	}
	return nil
}

func minimaxArguments(_ *Server, req *chatRequest) *apiError {
	return req.eachCall(func(_ int, c chatCall) *apiError {
		if c.Function.Arguments == nil || !json.Valid([]byte(*c.Function.Arguments)) {
			return invalid("invalid params, invalid function arguments json string, tool_call_id: %s (2013)", c.ID)
		}
		return nil
	})
}

func qwenArguments(_ *Server, req *chatRequest) *apiError {
	return req.eachCall(func(_ int, c chatCall) *apiError {
		if c.Function.Arguments == nil || !isObject([]byte(*c.Function.Arguments)) {
			return invalid(
				`<400> InternalError.Algo.InvalidParameter: The "function.arguments" parameter of the code model must be in JSON format.`,
			)
		}
		return nil
	})
}

func glmUser(_ *Server, req *chatRequest) *apiError {
	for _, m := range req.Messages {
		if m.Role == "user" {
			return nil
		}
	}
	return invalid("The messages parameter is illegal. Please check the documentation.").at("", "1214")
}

func openrouterCache(_ *Server, req *chatRequest) *apiError {
	n := 0
	if len(req.CacheControl) > 0 { // which takes one of them
		n++
	}
	for _, m := range req.Messages {
		n += strings.Count(string(m.Content), `"cache_control":{`)
	}
	if n > 4 {
		return invalid(
			"Provider returned error: A maximum of 4 blocks with cache_control may be provided. Found %d.", n,
		)
	}
	return nil
}

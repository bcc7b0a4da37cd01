package modeltest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The rules of Chat Completions in OpenAI's words; where OpenAI is lenient and
// other servers are not, in the words of vLLM and Mistral.

type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	MaxTokens     *int          `json:"max_tokens"`
	MaxCompletion *int          `json:"max_completion_tokens"`
	// CacheControl is OpenRouter's, for Claude.
	CacheControl json.RawMessage `json:"cache_control"`
	Tools        []struct {
		Type     string `json:"type"`
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []chatCall      `json:"tool_calls"`
	Refusal    string          `json:"refusal"`

	ReasoningContent *string `json:"reasoning_content"`
	Reasoning        *string `json:"reasoning"`

	Details []struct {
		Index     int     `json:"index"`
		Type      string  `json:"type"`
		Format    string  `json:"format"`
		Text      string  `json:"text"`
		Signature *string `json:"signature"`
	} `json:"reasoning_details"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
	Extra struct {
		Google struct {
			Signature string `json:"thought_signature"`
		} `json:"google"`
	} `json:"extra_content"`
}

func (s *Server) checkChat(body []byte) *apiError {
	var req chatRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return invalidType(err)
	}
	model, e := s.checkModel(Chat, req.Model)
	if e != nil {
		return e
	}
	if e := req.checkLimits(model, model.tokens(body)); e != nil {
		return e
	}
	if e := s.checkProvider(func(r ProviderRule) *apiError {
		if r.chat == nil {
			return nil
		}
		return r.chat(s, &req)
	}); e != nil {
		return e
	}
	for i, t := range req.Tools {
		if e := checkName(fmt.Sprintf("tools[%d].function.name", i), t.Function.Name); e != nil {
			return e
		}
		if !isObjectSchema(t.Function.Parameters) {
			return invalid(
				"Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.",
				t.Function.Name,
			).
				at(fmt.Sprintf("tools[%d].function.parameters", i), "invalid_function_parameters")
		}
	}
	if len(req.Messages) == 0 {
		return invalid(
			"Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
		).at("messages", "empty_array")
	}
	for i := range req.Messages {
		if e := s.checkChatMessage(req.Messages[i], i); e != nil {
			return e
		}
	}
	if e := req.checkCalls(); e != nil {
		return e
	}
	return s.checkChatRoles(req.Messages)
}

func (req *chatRequest) checkLimits(m Model, input int) *apiError {
	limit := req.MaxCompletion
	name := "max_completion_tokens"
	if limit == nil {
		limit, name = req.MaxTokens, "max_tokens"
	}
	switch {
	case limit != nil && *limit < 1:
		return invalid(
			"Invalid '%s': integer below minimum value. Expected a value >= 1, but got %d instead.", name, *limit,
		).at(name, "integer_below_min_value")
	case limit != nil && m.MaxOutput > 0 && *limit > m.MaxOutput:
		return invalid(
			"max_tokens is too large: %d. This model supports at most %d completion tokens, whereas you provided %d.",
			*limit, m.MaxOutput, *limit,
		).at(name, "invalid_value")
	case m.Window > 0 && limit != nil && input+*limit > m.Window:
		return invalid(
			"This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion). Please reduce the length of the messages or completion.",
			m.Window,
			input+*limit,
			input,
			*limit,
		).at("messages", "context_length_exceeded")
	case m.Window > 0 && input > m.Window:
		return invalid(
			"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.",
			m.Window,
			input,
		).at("messages", "context_length_exceeded")
	}
	return nil
}

// checkChatMessage checks message i by itself.
func (s *Server) checkChatMessage(m chatMessage, i int) *apiError {
	at := fmt.Sprintf("messages[%d]", i)
	switch m.Role {
	case "system", "developer", "user", "tool":
		if len(m.ToolCalls) > 0 {
			return invalid(
				"Invalid parameter: 'tool_calls' is only allowed for role 'assistant'.",
			).at(at+".tool_calls", "")
		}
	case "assistant":
		if e := s.checkDetails(m, i); e != nil {
			return e
		}
	default:
		return invalid(
			"Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
			m.Role,
		).at(at+".role", "invalid_value")
	}
	for k, c := range m.ToolCalls {
		param := fmt.Sprintf("%s.tool_calls[%d]", at, k)
		if c.ID == "" {
			return emptyString(param + ".id")
		}
		if len(c.ID) > 64 {
			return invalid(
				"Invalid '%s.id': string too long. Expected a string with maximum length 64, but got a string with length %d instead.",
				param,
				len(c.ID),
			).
				at(param+".id", "string_above_max_length")
		}
		if e := checkName(param+".function.name", c.Function.Name); e != nil {
			return e
		}
		if c.Function.Arguments == nil || !isObject([]byte(*c.Function.Arguments)) {
			return invalid(
				"Invalid '%s.function.arguments': string is not a valid JSON object.", param,
			).at(param+".function.arguments", "invalid_value")
		}
	}
	return s.checkChatContent(m, at)
}

// checkChatContent wants text, except of a message that calls or answers.
func (s *Server) checkChatContent(m chatMessage, at string) *apiError {
	if len(m.Content) == 0 || string(m.Content) == "null" {
		if m.Role == "assistant" && (len(m.ToolCalls) > 0 || m.Refusal != "") {
			return nil
		}
		return invalid("Invalid value for 'content': expected a string, got null.").at(at+".content", "")
	}
	if s.rules.AllowEmptyText || m.Role == "tool" {
		return nil
	}
	if content, ok := text(m.Content); ok {
		if blank(content) && len(m.ToolCalls) == 0 {
			return emptyString(at + ".content")
		}
		return nil
	}
	parts, ok := list(m.Content)
	if !ok {
		return invalid(
			"Invalid type for '%s.content': expected one of a string or array of objects.", at,
		).at(at+".content", "invalid_type")
	}
	if len(parts) == 0 {
		return invalid(
			"Invalid '%s.content': empty array. Expected an array with minimum length 1, but got an empty array instead.",
			at,
		).at(at+".content", "empty_array")
	}
	for k, raw := range parts {
		var part struct{ Type, Text string }
		if !readablePart(raw) {
			return unsupportedImage(fmt.Sprintf("%s.content[%d]", at, k))
		}
		if e := filePartFault(raw, fmt.Sprintf("%s.content[%d]", at, k)); e != nil {
			return e
		}
		if json.Unmarshal(raw, &part) == nil && part.Type == "text" && blank(part.Text) {
			return emptyString(fmt.Sprintf("%s.content[%d].text", at, k))
		}
	}
	return nil
}

// checkDetails wants OpenRouter's reasoning_details as they came.
func (s *Server) checkDetails(m chatMessage, i int) *apiError {
	texts, signed := map[int]string{}, map[int]string{} // by index
	for _, d := range m.Details {
		if d.Type != "reasoning.text" || d.Format == "unknown" && d.Signature == nil { // not every upstream signs
			continue
		}
		texts[d.Index] += d.Text
		if d.Signature != nil {
			signed[d.Index] = *d.Signature
		}
	}
	for index, text := range texts {
		if signed[index] != s.account().signature(text) && !s.issued.played(signed[index]) {
			return invalid("messages.%d.content.0: Invalid `signature` in `thinking` block", i)
		}
	}
	return nil
}

// checkCalls wants the calls of a message answered by the messages right after
// it, each once, and every id once.
func (req *chatRequest) checkCalls() *apiError {
	seen := map[string]bool{}
	var open, known []string // of the last assistant message: not answered yet, all
	for i, m := range req.Messages {
		if m.Role == "tool" {
			switch {
			case known == nil:
				return invalid(
					"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
				).
					at(fmt.Sprintf("messages.[%d].role", i), "")
			case !slices.Contains(known, m.ToolCallID):
				return invalid(
					"Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message.",
					m.ToolCallID,
				).
					at(fmt.Sprintf("messages.[%d].tool_call_id", i), "")
			case !slices.Contains(open, m.ToolCallID):
				return invalid("Duplicate value for 'tool_call_id' of '%s' in message[%d].", m.ToolCallID, i).
					at(fmt.Sprintf("messages.[%d].tool_call_id", i), "")
			}
			open = without(open, map[string]bool{m.ToolCallID: true})
			continue
		}
		if len(open) > 0 {
			return missingOutputs(open, i)
		}
		known = nil
		for _, c := range m.ToolCalls {
			if seen[c.ID] {
				return invalid("Duplicate value for 'tool_calls[].id' of '%s' in message[%d].", c.ID, i).
					at(fmt.Sprintf("messages.[%d].tool_calls", i), "")
			}
			seen[c.ID] = true
			known = append(known, c.ID)
		}
		open = known
	}
	if len(open) > 0 {
		return missingOutputs(open, len(req.Messages))
	}
	return nil
}

func missingOutputs(calls []string, i int) *apiError {
	return invalid(
		"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s",
		strings.Join(calls, ", "),
	).
		at(fmt.Sprintf("messages.[%d].role", i), "")
}

// checkChatRoles requires that user and assistant alternate, as many chat templates do,
// and that the last message is not the assistant's.
func (s *Server) checkChatRoles(messages []chatMessage) *apiError {
	before := ""
	for i, m := range messages {
		if m.Role == "system" || m.Role == "developer" {
			if i > 0 && before != "" {
				return invalid(
					"Conversation roles must alternate user/assistant/user/assistant/... (a system message must come first)",
				)
			}
			continue
		}
		if m.Role == before && m.Role != "tool" && !s.rules.AllowRepeatedRoles {
			return invalid("Conversation roles must alternate user/assistant/user/assistant/...")
		}
		before = m.Role
	}
	if before == "assistant" && !s.rules.AllowPrefill {
		return invalid("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant")
	}
	return nil
}

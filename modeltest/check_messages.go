package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// The rules of the Messages API, in its own words.

type messagesRequest struct {
	Model     string            `json:"model"`
	MaxTokens *int              `json:"max_tokens"`
	System    json.RawMessage   `json:"system"`
	Messages  []messagesMessage `json:"messages"`
	Tools     []messagesTool    `json:"tools"`
	Thinking  struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
}

type messagesTool struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"input_schema"`
	Defer  bool            `json:"defer_loading"`
	Cache  json.RawMessage `json:"cache_control"`
}

type messagesMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`

	blocks []messagesBlock // Content, read
}

type messagesBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature *string         `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Source    struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
}

func (s *Server) checkMessages(h http.Header, body []byte) *apiError {
	var req messagesRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return invalid("%s", pydantic(err))
	}
	model, e := s.checkModel(Messages, req.Model)
	if e != nil {
		return e
	}
	if len(s.rules.Keys) > 0 && h.Get("Anthropic-Version") == "" {
		return invalid("anthropic-version: header is required")
	}
	if e := req.checkLimits(model, model.tokens(loaded(body))); e != nil {
		return e
	}
	if e := req.checkTools(); e != nil {
		return e
	}
	if e := req.checkDeferred(s.rules.NoToolSearch); e != nil {
		return e
	}
	if strings.Count(string(body), `"cache_control":{`) > 4 {
		return invalid(
			"A maximum of 4 blocks with cache_control may be provided. Found %d.",
			strings.Count(string(body), `"cache_control":{`),
		)
	}
	if len(req.Messages) == 0 {
		return invalid("messages: at least one message is required")
	}
	for i := range req.Messages {
		if e := s.checkMessage(&req, i); e != nil {
			return e
		}
	}
	if e := s.checkProvider(func(r ProviderRule) *apiError {
		if r.messages == nil {
			return nil
		}
		return r.messages(&req)
	}); e != nil {
		return e
	}
	if e := req.checkPairs(); e != nil {
		return e
	}
	if e := s.checkThinkingKept(&req); e != nil {
		return e
	}
	return s.checkRoles(&req)
}

// pydantic is a type error in the words of the provider.
func pydantic(err error) string {
	var e *json.UnmarshalTypeError
	if errors.As(err, &e) {
		return fmt.Sprintf("%s: Input should be a valid %s", e.Field, e.Type.Kind())
	}
	return err.Error()
}

func (req *messagesRequest) checkLimits(m Model, input int) *apiError {
	switch {
	case req.MaxTokens == nil:
		return invalid("max_tokens: Field required")
	case *req.MaxTokens < 1:
		return invalid("max_tokens: Input should be greater than or equal to 1")
	case m.MaxOutput > 0 && *req.MaxTokens > m.MaxOutput:
		return invalid(
			"max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", *req.MaxTokens,
			m.MaxOutput, m.ID,
		)
	case m.Window > 0 && input > m.Window:
		return invalid("prompt is too long: %d tokens > %d maximum", input, m.Window)
	case m.Window > 0 && input+*req.MaxTokens > m.Window:
		return invalid(
			"input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or `max_tokens` and try again",
			input,
			*req.MaxTokens,
			m.Window,
		)
	case req.Thinking.Type == "enabled" && req.Thinking.Budget < 1024:
		return invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case req.Thinking.Type == "enabled" && *req.MaxTokens <= req.Thinking.Budget:
		return invalid(
			"`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
		)
	}
	return nil
}

func (req *messagesRequest) checkTools() *apiError {
	seen := map[string]bool{}
	for i, t := range req.Tools {
		if t.Type != "" && t.Type != "custom" { // one of the provider's own
			if e := checkOwnTool(i, t.Type, t.Name, t.Schema); e != nil {
				return e
			}
			continue
		}
		if !isName(t.Name, "_-", 128) {
			return invalid("tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		}
		if !isObject(t.Schema) {
			return invalid("tools.%d.custom.input_schema: Field required", i)
		}
		if seen[t.Name] {
			return invalid("tools: Tool names must be unique.")
		}
		seen[t.Name] = true
	}
	return nil
}

// checkMessage reads message i and checks it by itself.
func (s *Server) checkMessage(req *messagesRequest, i int) *apiError {
	m := &req.Messages[i]
	if m.Role != "user" && m.Role != "assistant" {
		return invalid(
			"messages: Unexpected role \"%s\". The Messages API accepts a top-level `system` parameter, not \"%s\" as an input message role.",
			m.Role,
			m.Role,
		)
	}
	if content, ok := text(m.Content); ok {
		m.blocks = []messagesBlock{{Type: "text", Text: content}}
		if content == "" {
			return s.emptyMessage(req, i)
		}
	} else if json.Unmarshal(m.Content, &m.blocks) != nil {
		return invalid("messages.%d.content: Input should be a valid list", i)
	}
	if len(m.blocks) == 0 {
		return s.emptyMessage(req, i)
	}
	for k := range m.blocks {
		if e := s.checkBlock(req, i, k); e != nil {
			return e
		}
	}
	return nil
}

func (s *Server) emptyMessage(req *messagesRequest, i int) *apiError {
	switch m := req.Messages[i]; {
	case s.rules.AllowEmptyText:
		return nil
	case m.Role == "user":
		return invalid("messages.%d: user messages must have non-empty content", i)
	case i == len(req.Messages)-1:
		return nil
	}
	return invalid(
		"messages.%d: all messages must have non-empty content except for the optional final assistant message", i,
	)
}

// checkBlock checks block k of message i by itself.
func (s *Server) checkBlock(req *messagesRequest, i, k int) *apiError {
	m := &req.Messages[i]
	b, at := m.blocks[k], fmt.Sprintf("messages.%d.content.%d", i, k)
	switch b.Type {
	case "text":
		return s.checkText(b.Text)
	case "thinking":
		return s.checkThinking(b, at)
	case "redacted_thinking":
		if !s.account().knownRedacted(b.Data) && !s.issued.played(b.Data) {
			return invalid("%s: Invalid `data` in `redacted_thinking` block", at)
		}
	case "tool_use":
		if m.Role != "assistant" {
			return invalid("messages.%d: `tool_use` blocks can only be in `assistant` messages", i)
		}
		return checkToolUse(b, at)
	case "tool_result":
		if m.Role != "user" {
			return invalid("messages.%d: `tool_result` blocks can only be in `user` messages", i)
		}
		return s.checkToolResult(b, at)
	case "image":
		if b.Source.Type == "base64" && !readableImage(b.Source.Data) {
			return invalid("Could not process image")
		}
	case "server_tool_use", "web_search_tool_result":
		return s.checkServerTool(m, b, at)
	case "tool_search_tool_result":
		return req.checkFound(m, k, at)
	case "document":
		if b.Source.Type == "base64" {
			return pdfFault(b.Source.MediaType, b.Source.Data, at)
		}
	case "search_result":
		// its contents are none of our business
	default:
		return invalid(
			"%s: Input tag '%s' found using 'type' does not match any of the expected tags: 'document', 'image', 'redacted_thinking', 'search_result', 'server_tool_use', 'text', 'thinking', 'tool_result', 'tool_use', 'web_search_tool_result'",
			at,
			b.Type,
		)
	}
	return nil
}

func (s *Server) checkText(content string) *apiError {
	switch {
	case s.rules.AllowEmptyText:
		return nil
	case content == "":
		return invalid("messages: text content blocks must be non-empty")
	case blank(content):
		return invalid("messages: text content blocks must contain non-whitespace text")
	}
	return nil
}

func (s *Server) checkThinking(b messagesBlock, at string) *apiError {
	switch {
	case s.rules.Provider == "deepseek": // which signs nothing
		return nil
	case b.Signature == nil:
		return invalid("%s.thinking.signature: Field required", at)
	case *b.Signature == s.account().signature(b.Thinking) && b.Thinking != "":
		return nil
	case s.issued.played(*b.Signature) && b.Thinking != "":
		return nil
	case s.issued.altered(*b.Signature, b.Thinking):
		return invalid(
			"%s: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
			at,
		)
	}
	return invalid("%s: Invalid `signature` in `thinking` block", at)
}

func checkToolUse(b messagesBlock, at string) *apiError {
	switch {
	case !isName(b.ID, "_-", len(b.ID)):
		return invalid("%s.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", at)
	case b.Name == "":
		return invalid("%s.tool_use.name: String should have at least 1 character", at)
	case len(b.Name) > 200:
		return invalid("%s.tool_use.name: String should have at most 200 characters", at)
	case !isObject(b.Input):
		return invalid("%s.tool_use.input: Input should be a valid dictionary", at)
	}
	return nil
}

func (s *Server) checkToolResult(b messagesBlock, at string) *apiError {
	if !isName(b.ToolUseID, "_-", len(b.ToolUseID)) {
		return invalid("%s.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'", at)
	}
	parts, _ := list(b.Content)
	for _, raw := range parts {
		var part messagesBlock
		if json.Unmarshal(raw, &part) == nil && part.Type == "text" {
			if e := s.checkText(part.Text); e != nil {
				return e
			}
		}
	}
	return nil
}

// checkPairs wants each tool_use answered in the message right after it, once,
// and before anything else there; and nothing after it in its own.
func (req *messagesRequest) checkPairs() *apiError {
	seen := map[string]bool{}
	var open []string // the calls of the message before
	for i, m := range req.Messages {
		var calls []string
		answered := map[string]bool{}
		for k, b := range m.blocks {
			switch b.Type {
			case "tool_use":
				if seen[b.ID] {
					return invalid("messages.%d.content.%d: `tool_use` ids must be unique", i, k)
				}
				seen[b.ID] = true
				calls = append(calls, b.ID)
			case "tool_result":
				if answered[b.ToolUseID] {
					return invalid(
						"messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s",
						i,
						k,
						b.ToolUseID,
					)
				}
				answered[b.ToolUseID] = true
				if k > 0 && m.blocks[k-1].Type != "tool_result" {
					return unanswered(i-1, open)
				}
				if !slices.Contains(open, b.ToolUseID) {
					return invalid(
						"messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
						i,
						k,
						b.ToolUseID,
					)
				}
			case "text":
				if len(calls) > 0 {
					return unanswered(i, calls)
				}
			}
		}
		if missing := without(open, answered); len(missing) > 0 {
			return unanswered(i-1, missing)
		}
		open = calls
	}
	if len(open) > 0 {
		return unanswered(len(req.Messages)-1, open)
	}
	return nil
}

func unanswered(i int, calls []string) *apiError {
	return invalid(
		"messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
		i,
		strings.Join(calls, ", "),
	)
}

func without(ids []string, answered map[string]bool) []string {
	var out []string
	for _, id := range ids {
		if !answered[id] {
			out = append(out, id)
		}
	}
	return out
}

// checkThinkingKept wants the thinking that came with the calls that are being
// answered, when thinking has a budget.
func (s *Server) checkThinkingKept(req *messagesRequest) *apiError {
	n := len(req.Messages)
	if req.Thinking.Type != "enabled" || n < 2 {
		return nil
	}
	last := req.Messages[n-2]
	if last.Role != "assistant" || len(last.blocks) == 0 {
		return nil
	}
	if first := last.blocks[0].Type; first != "text" && first != "tool_use" {
		return nil
	}
	for _, b := range last.blocks {
		if b.Type == "tool_use" && !s.issued.unthought(b.ID) {
			return invalid(
				"messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
				n-2,
				last.blocks[0].Type,
			)
		}
	}
	return nil
}

func (s *Server) checkRoles(req *messagesRequest) *apiError {
	if req.Messages[0].Role != "user" {
		return invalid("messages: first message must use the \"user\" role")
	}
	for i, m := range req.Messages {
		if i > 0 && m.Role == req.Messages[i-1].Role && !s.rules.AllowRepeatedRoles {
			return invalid(
				"messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"%s\" roles in a row",
				m.Role,
			)
		}
		if m.Role == "assistant" && len(m.blocks) > 0 && i < len(req.Messages)-1 {
			if last := m.blocks[len(m.blocks)-1].Type; last == "thinking" || last == "redacted_thinking" {
				return invalid("messages.%d: The final block in an assistant message cannot be `%s`.", i, last)
			}
		}
	}
	last := req.Messages[len(req.Messages)-1]
	if last.Role != "assistant" {
		return nil
	}
	if !s.rules.AllowPrefill && !searched(last) {
		return invalid(
			"This model does not support assistant message prefill. The conversation must end with a user message.",
		)
	}
	if n := len(last.blocks); n > 0 && last.blocks[n-1].Text != strings.TrimRight(last.blocks[n-1].Text, " \t\r\n") {
		return invalid("messages: final assistant content cannot end with trailing whitespace")
	}
	return nil
}

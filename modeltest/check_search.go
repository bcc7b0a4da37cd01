package modeltest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The rules about the providers' own search of the web.

// checkOwnTool checks tool i, one of Anthropic's own
// (platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool).
func checkOwnTool(i int, kind, name string, schema json.RawMessage) *apiError {
	if strings.HasPrefix(kind, "tool_search_tool_") {
		return checkToolSearch(i, kind, name)
	}
	switch search := strings.HasPrefix(kind, "web_search_"); {
	case search && !slices.Contains([]string{"web_search_20250305", "web_search_20260209"}, kind):
		return invalid(
			"tools.%d: Input tag '%s' found using 'type' does not match any of the expected tags: 'custom', 'web_search_20250305', 'web_search_20260209'",
			i,
			kind,
		)
	case search && name != "web_search":
		return invalid("tools.%d.%s.name: Input should be 'web_search'", i, kind)
	case search && len(schema) > 0:
		return invalid("tools.%d.%s.input_schema: Extra inputs are not permitted", i, kind)
	}
	return nil
}

// checkServerTool checks a block about a search that the API made. The server
// knows a result by its encrypted_content, from the recordings that it has played.
func (s *Server) checkServerTool(m *messagesMessage, b messagesBlock, at string) *apiError {
	if m.Role != "assistant" {
		return invalid("%s: `%s` blocks can only be in `assistant` messages", at, b.Type)
	}
	if b.Type == "server_tool_use" {
		return checkServerUse(m, b, at)
	}
	var pages []struct {
		Type      string  `json:"type"`
		Encrypted *string `json:"encrypted_content"`
	}
	if json.Unmarshal(b.Content, &pages) != nil {
		return nil // an error, in place of the pages
	}
	for k, p := range pages {
		switch {
		case p.Encrypted == nil:
			return invalid("%s.web_search_tool_result.content.%d.encrypted_content: Field required", at, k)
		case !s.issued.played(*p.Encrypted):
			return invalid("%s: Invalid `encrypted_content` in `search_result` block", at)
		}
	}
	return nil
}

// checkServerUse wants each search to have its result, in the same message.
func checkServerUse(m *messagesMessage, b messagesBlock, at string) *apiError {
	if !isServerToolID(b.ID) {
		return invalid("%s.server_tool_use.id: String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'", at)
	}
	if !isObject(b.Input) {
		return invalid("%s.server_tool_use.input: Input should be a valid dictionary", at)
	}
	want := "web_search_tool_result"
	if strings.HasPrefix(b.Name, "tool_search_tool_") {
		want = "tool_search_tool_result"
	}
	for _, block := range m.blocks {
		if block.Type == want && block.ToolUseID == b.ID {
			return nil
		}
	}
	return invalid(
		"%s: `%s` tool use with id `%s` was found without a corresponding `%[2]s_tool_result` block",
		at,
		b.Name,
		b.ID,
	)
}

// checkTogether: before Gemini 3, a request has functions or Google's search
// (ai.google.dev/gemini-api/docs/tool-combination).
func (req *geminiRequest) checkTogether(name string) *apiError {
	functions, search := false, false
	for i, t := range req.Tools {
		functions, search = functions || len(t.FunctionDeclarations) > 0, search || t.GoogleSearch != nil
		if len(t.FunctionDeclarations) == 0 && t.GoogleSearch == nil {
			return geminiInvalid(
				"* GenerateContentRequest.tools[%d].tool_type: required one_of 'tool_type' must have one initialized field",
				i,
			)
		}
	}
	if functions && search && strings.HasPrefix(name, "gemini-2") {
		return geminiInvalid("Tool use with function calling is unsupported")
	}
	return nil
}

// checkOwn checks a tool of OpenAI's own, by its type
// (developers.openai.com/api/docs/guides/tools).
func checkOwn(i int, kind string) *apiError {
	known := []string{
		"function",
		"custom",
		"web_search",
		"web_search_2025_08_26",
		"web_search_preview",
		"web_search_preview_2025_03_11",
		"file_search",
		"code_interpreter",
		"image_generation",
		"mcp",
		"computer_use_preview",
		"computer",
		"local_shell",
		"shell",
		"apply_patch",
		"tool_search",
		"namespace",
	}
	if slices.Contains(known, kind) {
		return nil
	}
	return invalid(
		"Invalid value: '%s'. Supported values are: '%s'.", kind, strings.Join(known, "', '"),
	).at(fmt.Sprintf("tools[%d].type", i), "invalid_value")
}

// searched reports whether a message is of a response in which the API searched: when it
// pauses such a response, the message goes back as the last one
// (platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools).
func searched(m messagesMessage) bool {
	return slices.ContainsFunc(m.blocks, func(b messagesBlock) bool { return b.Type == "web_search_tool_result" })
}

func isServerToolID(id string) bool {
	rest, ok := strings.CutPrefix(id, "srvtoolu_")
	return ok && isName(rest, "_", len(rest))
}

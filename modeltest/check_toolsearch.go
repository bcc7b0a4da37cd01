package modeltest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The rules about the providers' own search of tools.

// checkToolSearch checks tool i, Anthropic's search.
func checkToolSearch(i int, kind, name string) *apiError {
	known := []string{
		"tool_search_tool_bm25",
		"tool_search_tool_bm25_20251119",
		"tool_search_tool_regex",
		"tool_search_tool_regex_20251119",
	}
	if !slices.Contains(known, kind) {
		return unknownTag(i, kind, known)
	}
	if want := strings.TrimSuffix(kind, "_20251119"); name != want {
		return invalid("tools.%d.%s.name: Input should be '%s'", i, kind, want)
	}
	return nil
}

func unknownTag(i int, kind string, known []string) *apiError {
	return invalid(
		"tools.%d: Input tag '%s' found using 'type' does not match any of the expected tags: '%s'",
		i,
		kind,
		strings.Join(known, "', '"),
	)
}

// checkDeferred checks which tools are deferred
// (platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool,
// github.com/router-for-me/CLIProxyAPI/issues/4561).
func (req *messagesRequest) checkDeferred(none bool) *apiError {
	deferred := 0
	for i := range req.Tools {
		switch t := &req.Tools[i]; {
		case none && strings.HasPrefix(t.Type, "tool_search_tool_"):
			return unknownTag(i, t.Type, []string{"bash_20250124", "custom", "web_search_20250305"})
		case none && t.Defer:
			return invalid("tools.%d.custom.defer_loading: Extra inputs are not permitted", i)
		case t.Defer && len(t.Cache) > 0:
			return invalid(
				"Tool '%s' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.",
				t.Name,
			)
		case t.Defer:
			deferred++
		}
	}
	if deferred > 0 && deferred == len(req.Tools) {
		return invalid("At least one tool must have defer_loading=false. All tools cannot be deferred.")
	}
	return nil
}

// checkFound checks block k of the message, the result of a search: its search is before
// it (github.com/anthropics/claude-code/issues/95406, of another tool), and there are the
// tools that it refers to (…/issues/81863).
func (req *messagesRequest) checkFound(m *messagesMessage, k int, at string) *apiError {
	b := &m.blocks[k]
	if m.Role != "assistant" {
		return invalid("%s: `%s` blocks can only be in `assistant` messages", at, b.Type)
	}
	searched := false
	for i := range m.blocks[:k] {
		searched = searched || m.blocks[i].Type == "server_tool_use" && m.blocks[i].ID == b.ToolUseID
	}
	if !searched {
		return invalid(
			"%s: unexpected `tool_use_id` found in `%s` blocks: %s. Each `%[2]s` block must have a corresponding `server_tool_use` block before it.",
			at,
			b.Type,
			b.ToolUseID,
		)
	}
	var f found
	_ = json.Unmarshal(b.Content, &f) // a search that failed has an error in place of it
	for _, r := range f.References {
		there := false
		for i := range req.Tools {
			there = there || req.Tools[i].Name == r.Name
		}
		if !there {
			return invalid("Tool reference '%s' not found in available tools", r.Name)
		}
	}
	return nil
}

// checkNamespace checks a namespace among OpenAI's tools
// (developers.openai.com/api/docs/guides/function-calling#defining-namespaces).
func checkNamespace(at string, t *responsesTool) *apiError {
	if e := checkName(at+".name", t.Name); e != nil {
		return e
	}
	if t.Description == "" || len(t.Tools) == 0 {
		return invalid(
			"Missing required parameter: '%s.description' or '.tools'.",
			at,
		).at(at, "missing_required_parameter")
	}
	return checkResponsesTools(at+".tools", t.Tools)
}

// checkDeferred wants a search where tools are deferred
// (github.com/Wei-Shaw/sub2api/issues/5942), and the other way round
// (github.com/pydantic/pydantic-ai/pull/5230).
func (req *responsesRequest) checkDeferred(none bool) *apiError {
	searches, deferred := -1, false
	for i := range req.Tools {
		if req.Tools[i].Type == "tool_search" {
			searches = i
		}
		deferred = deferred || req.Tools[i].defers()
	}
	switch {
	case none && (searches >= 0 || deferred):
		return invalid(
			"Invalid value: 'tool_search'. Supported values are: 'function', 'image_generation', and 'mcp'.",
		).
			at(fmt.Sprintf("tools[%d].type", max(searches, 0)), "invalid_value")
	case deferred && searches < 0:
		return invalid(
			"Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search.",
		).at("tools", "invalid_value")
	case searches >= 0 && !deferred:
		return invalid(
			"Invalid Value: 'tools.tool_search'. tools.tool_search requires at least one deferred tool.",
		).at("tools", "invalid_value")
	}
	return nil
}

// defers reports whether the tool is deferred, or has any that is.
func (t *responsesTool) defers() bool {
	deferred := t.Defer
	for i := range t.Tools {
		deferred = deferred || t.Tools[i].Defer
	}
	return deferred
}

// checkNamespace wants a call of a tool that is in a namespace to say so
// (github.com/earendil-works/pi/issues/7709). A deferred function is in one of its own.
func (req *responsesRequest) checkNamespace(it responsesItem, at string) *apiError {
	if it.Namespace != "" {
		return nil
	}
	elsewhere := false
	for i := range req.Tools {
		t := &req.Tools[i]
		if t.Name == it.Name && t.Type != "namespace" {
			if !t.Defer {
				return nil
			}
			elsewhere = true
		}
		for k := range t.Tools {
			elsewhere = elsewhere || t.Tools[k].Name == it.Name
		}
	}
	if !elsewhere {
		return nil
	}
	return invalid(
		"Missing namespace for function_call '%s'. It does not exist in the default namespace. Round-trip the model's function_call item with its namespace field included.",
		it.Name,
	).
		at(at+".namespace", "")
}

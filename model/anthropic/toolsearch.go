package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/settle-agent/settle/model"
)

// The API's own search of tools is by words. Its blocks have the name of
// the tool, without the version
// (platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool).
const (
	toolSearchName = "tool_search_tool_bm25"
	toolSearchType = toolSearchName + "_20251119"
)

// tools returns the tools that the model sees, the search tool if tools are deferred, and
// the deferred tools. The cache excludes deferred tools: the API refuses a breakpoint
// there.
func tools(specs []model.ToolSpec) []*tool {
	var list, deferred []*tool
	for i := range specs {
		t := &specs[i]
		declared := &tool{
			Name:         t.Name,
			Description:  t.Description,
			InputSchema:  t.Schema,
			DeferLoading: t.Deferred != "",
		}
		if declared.DeferLoading {
			deferred = append(deferred, declared)
		} else {
			list = append(list, declared)
		}
	}
	if len(deferred) > 0 {
		list = append(list, &tool{Type: toolSearchType, Name: toolSearchName})
	}
	if n := len(list); n > 0 {
		list[n-1].CacheControl = ephemeral()
	}
	return append(list, deferred...)
}

// stale reports whether the item is a search for tools whose results the request no longer defers,
// since the tools have changed or settle searches them itself: the API refuses a reference to an
// absent tool.
func stale(item *model.Item, specs []model.ToolSpec) bool {
	if !strings.Contains(item.Signature.Data, "tool_search_tool_") {
		return false
	}
	var search struct {
		Type    string `json:"type"`
		Name    string `json:"name"`
		Content struct {
			References []struct {
				ToolName string `json:"tool_name"`
			} `json:"tool_references"`
		} `json:"content"`
	}
	if json.Unmarshal([]byte(item.Signature.Data), &search) != nil ||
		search.Type != "tool_search_tool_result" && !strings.HasPrefix(search.Name, "tool_search_tool_") {
		return false
	}
	deferred := map[string]bool{}
	for i := range specs {
		if specs[i].Deferred != "" {
			deferred[specs[i].Name] = true
		}
	}
	for _, r := range search.Content.References {
		if !deferred[r.ToolName] {
			return true
		}
	}
	return len(deferred) == 0
}

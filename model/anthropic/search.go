package anthropic

import (
	"encoding/json"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/transport"
)

// maxSearches bounds the number of searches of a request: each costs.
const maxSearches = 5

// searchTool is the API's own search. Its later versions filter results by running code
// at the provider, which excludes accounts with zero data retention;
// platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool.
func searchTool() *tool {
	return &tool{Type: "web_search_20250305", Name: "web_search", MaxUses: maxSearches, CacheControl: ephemeral()}
}

// sources emits the pages of a web_search_tool_result. A failed search has an error
// instead of pages; the model receives the error and reports it.
func sources(block []byte, emit transport.Emit) {
	var result struct {
		Content json.RawMessage `json:"content"`
	}
	var pages []struct {
		Type  string `json:"type"`
		URL   string `json:"url"`
		Title string `json:"title"`
	}
	if json.Unmarshal(block, &result) != nil || json.Unmarshal(result.Content, &pages) != nil {
		return
	}
	for _, p := range pages {
		if p.Type == "web_search_result" {
			emit(model.Chunk{Kind: model.Source, Text: p.URL, Name: p.Title})
		}
	}
}

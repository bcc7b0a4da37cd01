package hooks

import (
	"strings"

	"github.com/settle-agent/settle/tool/mcp"
)

// others has the names of Claude Code and Codex for settle's tools, the usual name first.
// Hooks that were written for those agents use these names.
func others(tool string) []string {
	switch tool {
	case "shell":
		return []string{"Bash"}
	case "read":
		return []string{"Read"}
	case "write":
		return []string{"Write"}
	case "edit":
		return []string{"Edit", "MultiEdit"}
	case "glob":
		return []string{"Glob"}
	case "grep":
		return []string{"Grep"}
	case "list":
		return []string{"LS"}
	case "plan":
		return []string{"TodoWrite"}
	case "task":
		return []string{"Task", "Agent"}
	case "web_fetch":
		return []string{"WebFetch"}
	case "web_search":
		return []string{"WebSearch"}
	case "skill":
		return []string{"Skill"}
	case mcp.ResourcesName:
		return []string{"ReadMcpResourceTool", "ListMcpResourcesTool"}
	}
	if strings.Contains(tool, mcp.Separator) { // a tool of an MCP server
		return []string{"mcp__" + tool}
	}
	return nil
}

// names returns the names that matchers know for the tool of the call. What a call does with the resources of a
// server also has the name of a tool of the server, as for rules.
func names(c Call) []string {
	list := append(others(c.Tool), c.Tool)
	if inner, ok := mcp.Unwrap(c.Tool, c.Arguments); ok && inner.Resources {
		list = append(append(list, others(inner.Name)...), inner.Name)
	}
	return list
}

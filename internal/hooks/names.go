package hooks

import (
	"slices"
	"strings"
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
	case "mcp_resources":
		return []string{"ReadMcpResourceTool", "ListMcpResourcesTool"}
	}
	if strings.Contains(tool, "__") { // a tool of an MCP server
		return []string{"mcp__" + tool}
	}
	return nil
}

// names returns the names that matchers know for the tool.
func names(tool string) []string { return append(slices.Clone(others(tool)), tool) }

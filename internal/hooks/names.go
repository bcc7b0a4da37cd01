package hooks

import (
	"github.com/settle-agent/settle/internal/config/claudecode"
	"github.com/settle-agent/settle/tool/mcp"
)

// names returns the names that matchers know for the tool of the call: those of Claude Code, the usual name first,
// then settle's. What a call does with the resources of a server also has the name of a tool of the server, as for
// rules.
func names(c Call) []string {
	list := append(claudecode.NamesOfCall(c.Tool, c.Arguments), c.Tool)
	if inner, ok := mcp.Unwrap(c.Tool, c.Arguments); ok && inner.Resources {
		list = append(append(list, claudecode.Names(inner.Name)...), inner.Name)
	}
	return list
}

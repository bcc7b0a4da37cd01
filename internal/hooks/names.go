package hooks

import (
	"github.com/settle-agent/settle/internal/config/claudecode"
	"github.com/settle-agent/settle/tool/mcp"
)

// names returns the names under which matchers know the tool of the call: first Claude Code's
// names, the usual one first, then settle's name. A call that uses the resources of a server also
// has the name of a tool of the server, as for rules.
func names(c Call) []string {
	list := append(claudecode.NamesOfCall(c.Tool, c.Arguments), c.Tool)
	if inner, ok := mcp.Unwrap(c.Tool, c.Arguments); ok && inner.Resources {
		list = append(append(list, claudecode.Names(inner.Name)...), inner.Name)
	}
	return list
}

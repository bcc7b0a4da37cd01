package conversation

import (
	"testing"

	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/skills"
	"github.com/settle-agent/settle/tool/mcp"
)

// promptSource is an agent whose servers have a prompt.
type promptSource struct{}

func (promptSource) Sources() skills.Sources { return skills.Sources{} }
func (promptSource) Skills() skills.Found    { return skills.Found{} }

func (promptSource) Prompts() ([]mcp.Command, []string) {
	return []mcp.Command{{Name: "docs__style", Server: "docs"}}, nil
}

// The open session expands the prompts of MCP servers, so that the list of commands
// must not contain them.
func TestCommandsLeavesOutServerPrompts(t *testing.T) {
	if set := commands.Of(promptSource{}); len(set.List) != 1 {
		t.Fatalf("%+v", set)
	}
	if set := Commands(promptSource{})(); len(set.List) != 0 {
		t.Errorf("%+v", set)
	}
}

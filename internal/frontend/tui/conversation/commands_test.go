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
	if _, ok := commands.Of(promptSource{}).Named("docs__style"); !ok {
		t.Fatal("the agent has no prompt of a server")
	}
	for _, c := range Commands(promptSource{})().List {
		if !c.BuiltIn {
			t.Errorf("the list has %s", c.Name)
		}
	}
}

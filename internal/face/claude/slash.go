package claude

import (
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/commands"
)

// slashCommands are the names of what a person can call.
func slashCommands(a *assemble.Agent) []string {
	names := []string{}
	for _, c := range commands.Of(a).List {
		names = append(names, c.Name)
	}
	return names
}

// skillNames are the names of the skills.
func skillNames(a *assemble.Agent) []string {
	names := []string{}
	for _, s := range a.Skills().Skills {
		names = append(names, s.Name)
	}
	return names
}

// slashList is what a person can call, as the SDK lists it.
func slashList(a *assemble.Agent) []map[string]any {
	list := []map[string]any{}
	for _, c := range commands.Of(a).List {
		list = append(list, map[string]any{"name": c.Name, "description": c.About, "argumentHint": c.Hint})
	}
	return list
}

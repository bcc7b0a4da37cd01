package claude

import (
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/commands"
)

// slashCommands returns the names of the commands that a person can call.
func slashCommands(o *assemble.Opened) []string {
	names := []string{}
	for _, c := range commands.Of(o.Commands()).List {
		names = append(names, c.ClaudeName())
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
func slashList(o *assemble.Opened) []map[string]any {
	list := []map[string]any{}
	for _, c := range commands.Of(o.Commands()).List {
		list = append(list, map[string]any{"name": c.ClaudeName(), "description": c.About, "argumentHint": c.Hint})
	}
	return list
}

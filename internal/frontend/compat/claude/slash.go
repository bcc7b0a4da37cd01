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

// slashList returns the commands that a person can call, in the form of the SDK.
func slashList(o *assemble.Opened) []map[string]any {
	list := []map[string]any{}
	for _, c := range commands.Of(o.Commands()).List {
		list = append(list, map[string]any{"name": c.ClaudeName(), "description": c.About, "argumentHint": c.Hint})
	}
	return list
}

// agentsOf are the kinds of child agents that the model can start, as the SDK lists them.
func agentsOf(a *assemble.Agent) []map[string]any {
	list := []map[string]any{}
	if a.Session.Tasks == nil {
		return list
	}
	list = append(list, map[string]any{"name": plainAgent, "description": "An agent with the tools of this session"})
	for _, k := range a.Session.Tasks.Kinds {
		one := map[string]any{"name": k.Name(), "description": k.About}
		if k.Model != "" {
			one["model"] = k.Model
		}
		list = append(list, one)
	}
	return list
}

// agentNames are the names of agents.
func agentNames(list []map[string]any) []any {
	names := []any{}
	for _, one := range list {
		names = append(names, one["name"])
	}
	return names
}

// pluginsOf are the plugins that the session uses, as the SDK lists them.
func pluginsOf(a *assemble.Agent) []map[string]any {
	list := []map[string]any{}
	for _, p := range a.Plugins() {
		list = append(list, map[string]any{"name": p.Name, "path": p.Root})
	}
	return list
}

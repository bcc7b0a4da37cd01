package assemble

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config/claudecode"
	"github.com/settle-agent/settle/internal/skills"
	"github.com/settle-agent/settle/tool/family"
	"github.com/settle-agent/settle/tool/mcp"
	"github.com/settle-agent/settle/tool/task"
)

// Kinds are the kinds of child agents of a directory.
type Kinds struct {
	skills.FoundAgents

	// Kinds are the usable definitions, in the order of Agents.
	Kinds []task.Kind
}

// Kinds returns the kinds of child agents. If tools run on another machine, there are none,
// because that machine does not have their files.
func (o Options) Kinds() (out Kinds) {
	if o.Settings.Executor != "" {
		return out
	}
	out.FoundAgents = skills.FindAgents(o.Sources())
	for n := range out.Agents {
		out.Kinds = append(out.Kinds, o.kind(&out.Agents[n]))
	}
	return out
}

// kind converts a definition, and adds warnings to it.
func (o Options) kind(a *skills.Agent) task.Kind {
	k := task.Kind{
		Source: event.AgentSource{Name: a.Name, Path: a.Path, Hash: a.Hash}, About: a.About, Prompt: a.Prompt,
		Permission: event.Permission(a.Permission), Budget: task.Budget(a.Budget),
		Background: a.Background, Worktree: a.Worktree,
	}
	warn := func(text string) { a.Warnings = append(a.Warnings, text) }
	switch {
	case a.Model == "":
	case o.Resolve == nil:
		warn(fmt.Sprintf("its model %q is not used: this command has one model", a.Model))
	case !strings.Contains(a.Model, "/"):
		warn(fmt.Sprintf("its model %q is not used: name it as PROVIDER/NAME", a.Model))
	case (a.Project || a.Plugin != "") && o.provider() == "": // a list without a session
		warn(fmt.Sprintf("its model %q is used only if the session has a model of %q", a.Model, providerOf(a.Model)))
		k.Model = a.Model
	case (a.Project || a.Plugin != "") && providerOf(a.Model) != o.provider():
		// A project or plugin must not choose who receives the session's content and the user's key.
		of := "project"
		if a.Plugin != "" {
			of = "plugin"
		}
		warn(fmt.Sprintf("its model %q is not used: a %s's agents have models of the session's provider", a.Model, of))
	default:
		k.Model = a.Model
	}
	if a.Tools.Only != nil {
		k.Tools = []string{}
		for _, name := range a.Tools.Only {
			if base, pattern, limited := strings.Cut(name, "("); limited {
				warn(fmt.Sprintf("its limit %s(%s of a tool is not in force: the whole tool is meant", base, pattern))
				name = base
			}
			if name == task.All {
				k.Tools = nil
				break
			}
			k.Tools = append(k.Tools, settleTools(name)...)
		}
	}
	for _, name := range a.Tools.Without {
		if base, _, limited := strings.Cut(name, "("); limited {
			warn(fmt.Sprintf("its limit %s of a tool takes the whole tool away", name))
			name = base
		}
		k.Without = append(k.Without, removedTools(a.Format, name)...)
	}
	k.Tools, k.Without = distinct(k.Tools), distinct(k.Without)
	for _, name := range slices.Concat(k.Tools, k.Without) {
		if !slices.Contains(toolNames(), name) && !strings.ContainsAny(name, "*") && !isMCP(a.Format, name) &&
			!slices.Contains(task.Names(), name) {
			warn(fmt.Sprintf("settle has no tool %q", name))
		}
	}
	if k.Permission == settle.Deny && slices.Contains(k.Tools, "shell") {
		warn("its permission denies every command that your rules do not allow, so its shell runs nothing else")
	}
	return k
}

// distinct returns the list without repeated names; nil stays nil. Several names of another agent's tools
// stand for one of settle's.
func distinct(names []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(names, func(name string) bool {
		repeated := seen[name]
		seen[name] = true
		return repeated
	})
}

// isMCP reports whether a name can be the name of a tool of an MCP server.
func isMCP(format skills.Format, name string) bool {
	return strings.Contains(name, mcp.Separator) || format == skills.FormatOpencode && strings.Contains(name, "_")
}

// provider returns the provider of the session's model; "" if no model can be chosen.
func (o Options) provider() string {
	choice, err := o.Settings.Choose()
	if err != nil {
		return providerOf(o.Settings.Model)
	}
	return choice.Provider.Name
}

// providerOf returns the provider of PROVIDER/NAME.
func providerOf(model string) string {
	provider, _, _ := strings.Cut(model, "/")
	return provider
}

// removedTools returns settle's names of a tool that a definition takes away. A patch also
// writes and edits; in opencode's permissions, edit stands for every change of a file.
func removedTools(format skills.Format, name string) []string {
	if strings.HasPrefix(name, claudecode.ServerPrefix) {
		of := cmp.Or(strings.TrimSuffix(claudecode.ServerTool(name), mcp.Separator+"*"), "*")
		names := []string{of + mcp.Separator + "*"} // the name of a server can contain the separator too
		if strings.Contains(of, mcp.Separator) {
			names = append(names, of)
		}
		if len(of) > maxToolPrefix {
			names = append(names, of[:maxToolPrefix]+"*")
		}
		return names
	}
	switch tools := settleTools(name); {
	case format == skills.FormatOpencode && name == "edit":
		return []string{"edit", "write", "apply_patch"}
	case slices.Contains(tools, "write"):
		return append(tools, "apply_patch")
	default:
		return tools
	}
}

// maxToolPrefix is the length to which the name of a server's tool is cut, in bytes.
const maxToolPrefix = 55

// settleTools returns settle's names of a tool in a definition. Some names stand for several
// tools.
func settleTools(name string) []string {
	switch name {
	case "bash":
		return []string{"shell", "job"}
	case "edit", "Edit":
		return []string{"edit", "apply_patch"}
	case "webfetch":
		return []string{"web_fetch"}
	case "websearch":
		return []string{"web_search"}
	case "todowrite", "todoread":
		return []string{"plan"}
	case task.Name, "Task", "Agent":
		return task.Names()
	}
	if of := claudecode.ServerTool(name); of != "" {
		return []string{of}
	}
	if own := family.ToolOf(name); own == "shell" {
		return []string{"shell", "job"}
	} else if own != "" {
		return []string{own}
	}
	return []string{name}
}

// stricterJudge returns the function that makes the judge of a child whose kind has a
// stricter permission.
func (o *Options) stricterJudge(c *confinement) func(settle.Permission) (settle.Judge, error) {
	return func(stricter settle.Permission) (settle.Judge, error) {
		child := *o
		child.below, child.Ceiling = true, stricter.Stricter(o.Ceiling)
		build, err := child.judge(stricter.Stricter(o.permission()), c)
		if err != nil {
			return nil, err
		}
		return build()
	}
}

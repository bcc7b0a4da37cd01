package about

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/skills"
	"github.com/settle-agent/settle/internal/terminal"
)

// Names of the agents whose configuration settle reads.
const (
	claudeCode = "Claude Code"
	codex      = "Codex"
)

// maxNamed is the number of instruction files that a summary names.
const maxNamed = 3

// agentOf returns the agent whose configuration or instructions a file has; "" for settle's own
// files, and for files that several agents share.
func agentOf(path string, from skills.Sources) string {
	dir, name := filepath.Split(path)
	switch name {
	case ".claude.json", ".mcp.json", "CLAUDE.md", "CLAUDE.local.md":
		return claudeCode
	case "AGENTS.override.md":
		return codex
	case "AGENTS.md":
		if filepath.Clean(dir) == from.Codex {
			return codex
		}
		return ""
	}
	for _, of := range [][2]string{{from.Claude, claudeCode}, {from.Codex, codex}} {
		if of[0] != "" && disk.Within(of[0], path) {
			return of[1]
		}
	}
	parts := strings.Split(filepath.ToSlash(path), "/")
	for _, part := range slices.Backward(parts) { // the nearest folder of an agent decides
		switch part {
		case ".claude":
			return claudeCode
		case ".codex":
			return codex
		case ".settle", ".agents", ".opencode":
			return ""
		}
	}
	return ""
}

// imports collects the configuration of other agents that sessions use.
type imports struct {
	from   skills.Sources
	agents []string
	counts []string
}

// has reports whether a file is of another agent, which it notes. Parts of plugins are not: settle
// fetches these itself.
func (i *imports) has(path string, isPlugin bool) bool {
	agent := agentOf(path, i.from)
	if agent == "" || isPlugin {
		return false
	}
	if !slices.Contains(i.agents, agent) {
		i.agents = append(i.agents, agent)
	}
	return true
}

// add adds the number of elements for which isImported reports true.
func add[T any](i *imports, what string, all []T, isImported func(*T) bool) {
	n := 0
	for at := range all {
		if isImported(&all[at]) {
			n++
		}
	}
	if n > 0 {
		i.counts = append(i.counts, terminal.Count(n, what))
	}
}

// Imported returns a line about the configuration of Claude Code and Codex that sessions use; "" if
// they use none.
func Imported(o assemble.Options) string {
	i := &imports{from: o.Sources()}
	of := func(origin config.Origin) bool { return i.has(origin.Where, origin.Kind == config.Plugin) }
	add(i, "MCP server", o.Settings.SortedServers(), func(s *config.Server) bool { return s.Enabled && of(s.Origin) })
	add(i, "hook", o.Settings.Hooks, func(h *config.Hook) bool { return of(h.Origin) })
	add(i, "rule", o.Settings.Rules, func(r *config.Rule) bool { return r.Imported && of(r.Origin) })
	add(i, "skill", o.Skills().Skills, func(s *skills.Skill) bool { return i.has(s.Path, s.Plugin != "") })
	// Skills are commands as well; they count once.
	add(i, "command", commands.Find(i.from, skills.Found{}).List, func(c *commands.Command) bool {
		return i.has(c.Path, c.Plugin != "")
	})
	var names []string
	for _, path := range o.InstructionFiles() {
		if name := filepath.Base(path); i.has(path, false) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > maxNamed {
		names = []string{terminal.Count(len(names), "file") + " of instructions"}
	}
	if i.counts = append(i.counts, names...); len(i.counts) == 0 {
		return ""
	}
	slices.Sort(i.agents)
	return terminal.OneLine("from " + strings.Join(i.agents, ", ") + ": " + strings.Join(i.counts, ", "))
}

// InUse writes the files of instructions, the hooks, the skills and the commands that sessions use.
// Secrets are masked.
func InUse(to io.Writer, o assemble.Options) error {
	mask := redact.New(o.Settings.Secrets()...)
	var b strings.Builder
	write := func(what, text string) { fmt.Fprintf(&b, "  %-13s %s\n", what, terminal.OneLine(text)) }
	for _, path := range o.InstructionFiles() {
		write("instructions", path)
	}
	for _, h := range hookLines(o.ConfiguredHooks(), mask) {
		state := ""
		if h.State != "ok" {
			state = h.State + ", "
		}
		write("hook", fmt.Sprintf("%s %s: %s (%s%s)", h.Event, cmp.Or(h.Matcher, "all"), h.Command, state, h.From))
	}
	list := SkillList{Skills: o.Skills(), Commands: commands.Of(o)}
	names := map[string][]string{}
	for _, l := range list.lines() {
		names[l.Kind] = append(names[l.Kind], l.Name)
	}
	for _, kind := range []string{"skill", "command"} {
		if all := names[kind]; len(all) > 0 {
			write(kind+"s", strings.Join(all, ", "))
		}
	}
	_, err := io.WriteString(to, b.String())
	return err
}

package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config/plugin"
	"github.com/settle-agent/settle/internal/disk"
)

// The variables with which a plugin names its own folders.
const (
	pluginRoot = "CLAUDE_PLUGIN_ROOT"
	pluginData = "CLAUDE_PLUGIN_DATA"
)

// plugins adds the hooks and MCP servers of the plugins that the user trusts.
func (l *loader) plugins() {
	list, err := plugin.NewStore(l.DataDir).List()
	if err != nil {
		why := fmt.Sprintf("%v; repair the file, or remove it and add the plugins again: settle plugins add", err)
		note := "no plugin is used: " + why
		if l.RunHooks != HooksOff {
			note = "each call is refused, since the blocking hooks of plugins are not known: " + why
			l.refuse(note, "the list of plugins")
		}
		l.Notes = append(l.Notes, note)
	}
	l.Plugins = list
	for n := range list {
		p := &list[n]
		if p.Disabled {
			continue
		}
		if note := PluginNote(p); note != "" {
			l.Notes = append(l.Notes, note)
		}
		if p.Problem != "" {
			if l.RunHooks != HooksOff {
				l.refusals(p)
			}
			continue
		}
		if l.RunHooks != HooksOff {
			hooks, _ := PluginHooks(p)
			l.Hooks = append(l.Hooks, hooks...)
		}
		servers, notes := PluginServers(p, l.in.Dir, l.in.Getenv)
		l.Notes = append(l.Notes, notes...)
		for _, s := range servers {
			if _, own := l.Servers[s.Name]; !own {
				l.add(s)
			}
		}
	}
}

// refuse adds a hook that denies each call for a reason.
func (l *loader) refuse(reason, where string) {
	l.Refusals = append(l.Refusals, reason)
	l.Hooks = append(l.Hooks, Hook{
		Event: event.HookBefore, Origin: Origin{Kind: Plugin, Where: where}, Broken: reason,
	})
}

// refusals adds hooks that deny at the events of the blocking hooks of an unusable plugin: a
// blocking hook that fails denies. If its hooks are not known, all calls are refused.
func (l *loader) refusals(p *plugin.Plugin) {
	reason := PluginNote(p) + ", or: settle plugins disable " + p.Name
	former, isKnown := p.Former()
	if !isKnown {
		l.refuse(reason, "plugin "+p.Name)
		return
	}
	hooks, _ := PluginHooks(&former)
	for _, h := range hooks {
		if h.Event.IsBlocking() {
			h.Plugin, h.Broken = nil, reason
			l.Hooks = append(l.Hooks, h)
		}
	}
}

// PluginNote returns the reason why a plugin is not used, or a note that its source has changed; ""
// otherwise.
func PluginNote(p *plugin.Plugin) string {
	switch {
	case p.Problem != "":
		return fmt.Sprintf("the plugin %q is not used: %s; %s", p.Name, p.Problem, p.Remedy())
	case len(p.Drift) > 0:
		return fmt.Sprintf(
			"the plugin %q is used as you trusted it, but its directory %s has changed (%s); %s",
			p.Name, p.Source, p.Drifted(), p.Remedy())
	}
	return ""
}

// PluginHooks returns the hooks of a plugin, and descriptions of hooks that settle cannot run.
func PluginHooks(p *plugin.Plugin) (list []Hook, left []string) {
	for _, doc := range p.Parts.Hooks {
		var events map[string]json.RawMessage
		if err := json.Unmarshal(doc.JSON, &events); err != nil {
			left = append(left, fmt.Sprintf("hooks in %s: %v", doc.Where, err))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(events)) {
			if !slices.Contains(event.HookEvents(), event.HookEvent(name)) {
				left = append(left, fmt.Sprintf("hooks of the event %q", name))
			}
		}
		hooks, more, err := parseHooks(doc.JSON, loosely)
		if err != nil {
			more = append(more, err.Error())
		}
		for _, one := range more {
			left = append(left, "a hook: "+one)
		}
		for _, h := range hooks {
			if h.Broken != "" {
				left = append(left, fmt.Sprintf("a hook: %s: %s", h.Event, h.Broken))
				continue
			}
			h.Plugin, h.Env = p, pluginEnv(p)
			h.Origin = Origin{Kind: Plugin, Where: "plugin " + p.Name + ": " + doc.Where}
			for n, word := range h.Args {
				h.Args[n] = pluginPaths(p, word)
			}
			if h.Args != nil || runtime.GOOS == "windows" { // elsewhere the shell replaces them
				h.Command = pluginPaths(p, h.Command)
			}
			list = append(list, h)
		}
	}
	return list, left
}

// pluginEnv are the additional variables of a plugin's programs. Python must not write beside the
// scripts, whose folder the user trusts unchanged.
func pluginEnv(p *plugin.Plugin) []string {
	return []string{pluginRoot + "=" + p.Root, pluginData + "=" + p.Data, noPythonCache + "=1"}
}

const noPythonCache = "PYTHONDONTWRITEBYTECODE"

// pluginPaths replaces the variables of a plugin in a word that no shell reads.
func pluginPaths(p *plugin.Plugin, word string) string {
	return strings.NewReplacer("${"+pluginRoot+"}", p.Root, "${"+pluginData+"}", p.Data).Replace(word)
}

// PluginServers returns the MCP servers of a plugin for sessions in dir, and notes on servers that
// cannot be used.
func PluginServers(p *plugin.Plugin, dir string, getenv func(string) string) (list []Server, notes []string) {
	for _, doc := range p.Parts.Servers {
		from := ServerSource{
			Path: "plugin " + p.Name + ": " + doc.Where, Dir: p.Root, Kind: Plugin,
			Getenv: func(name string) string {
				switch name {
				case pluginRoot:
					return p.Root
				case pluginData:
					return p.Data
				case "CLAUDE_PROJECT_DIR":
					return dir
				}
				return getenv(name)
			},
		}
		data, err := json.Marshal(map[string]json.RawMessage{"mcpServers": doc.JSON})
		var servers []Server
		if err == nil {
			var more []string
			servers, more, err = from.Shared(data)
			notes = append(notes, more...)
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s: its MCP servers are not used: %v", from.Path, err))
			continue
		}
		for _, s := range servers {
			if s.InSession || s.Dir != "" && !disk.Within(p.Root, s.Dir) && !disk.Within(p.Data, s.Dir) {
				notes = append(notes, fmt.Sprintf(
					"%s: the MCP server %q is not used: its cwd must be in ${%s} or ${%s}, which no project can change",
					from.Path, s.Name, pluginRoot, pluginData))
				continue
			}
			s.Name, s.Plugin = PluginServerName(p.Name, s.Name), p
			s.Env = maps.Clone(s.Env)
			if s.Env == nil {
				s.Env = map[string]string{}
			}
			if len(s.Command) > 0 {
				s.Env[pluginRoot], s.Env[pluginData], s.Env[noPythonCache] = p.Root, p.Data, "1"
			}
			list = append(list, s)
		}
	}
	return list, notes
}

// PluginServerName returns the name of a plugin's server, as in Claude Code.
func PluginServerName(of, server string) string {
	name := "plugin_" + of + "_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, server)
	if len(name) <= maxServerName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:maxServerName-9] + "_" + hex.EncodeToString(sum[:4])
}

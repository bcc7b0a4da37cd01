package plugins

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/config/plugin"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/skills"
	"github.com/settle-agent/settle/internal/terminal"
)

// Kinds of parts, in the order in which they are shown: programs last, next to the question.
const (
	KindIgnored  = "ignored"
	KindUnusable = "unusable"
	KindSkill    = "skill"
	KindCommand  = "command"
	KindAgent    = "agent"
	KindServer   = "MCP server"
	KindHook     = "hook"
)

func kinds() []string {
	return []string{KindIgnored, KindUnusable, KindSkill, KindCommand, KindAgent, KindServer, KindHook}
}

// Part is a part of a plugin. Its texts are the plugin's own and can contain anything.
type Part struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Runs is the command line or URL of a program, as the plugin's file has it.
	Runs string `json:"runs,omitempty"`
	// Details are further facts: variables, tools, inline commands.
	Details []string `json:"details,omitempty"`
}

// Line describes the part on one line that a terminal can show. Nothing is cut.
func (p Part) Line() string {
	line := fmt.Sprintf("%-10s  %s", p.Kind, exact(p.Name))
	if p.Runs != "" {
		line += ": " + exact(p.Runs)
	}
	for _, d := range p.Details {
		line += "; " + exact(bounded(d, ";"))
	}
	return line
}

// bounded quotes a text that has one of the characters that would end it in a line.
func bounded(text, ends string) string {
	if strings.ContainsAny(text, ends) {
		return strconv.Quote(text)
	}
	return text
}

// exact returns a text on one line. It quotes a text with line ends, wide gaps or characters
// that a terminal would not show, so that no text can look like another line.
func exact(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return r == '\n' || r == '\t' || terminal.Control(r) || !strconv.IsPrint(r)
	}) || strings.Contains(text, "  ") || strings.TrimSpace(text) != text {
		text = strconv.Quote(text)
	}
	return terminal.Text(text)
}

// Inventory returns the parts of a plugin, in the order of their kinds. It starts nothing.
func Inventory(p *plugin.Plugin, getenv func(string) string) []Part {
	var out []Part
	add := func(kind, name, runs string, details ...string) {
		out = append(out, Part{kind, name, strings.ReplaceAll(runs, p.Root, "${CLAUDE_PLUGIN_ROOT}"), details})
	}
	for _, what := range p.Parts.Ignored {
		add(KindIgnored, what, "")
	}
	hooks, left := config.PluginHooks(p)
	_, notes := config.PluginServers(p, filepath.Dir(p.Root), getenv) // as for a session elsewhere
	for _, what := range append(left, notes...) {
		add(KindIgnored, what, "")
	}
	out = append(out, texts(p)...)
	out = append(out, servers(p)...)
	for _, h := range hooks {
		details := []string{}
		if h.Timeout > 0 {
			details = append(details, "at most "+h.Timeout.String())
		}
		matcher := ""
		if h.Matcher != "" {
			matcher = " of " + bounded(h.Matcher, ":;")
		}
		add(KindHook, string(h.Event)+matcher, h.Line(), details...)
	}
	slices.SortStableFunc(out, func(a, b Part) int {
		return slices.Index(kinds(), a.Kind) - slices.Index(kinds(), b.Kind)
	})
	return out
}

// inline matches a command in a text, which other agents run before a model reads the text.
var inline = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("!`([^`]+)`") })

// texts returns the skills, commands and agents.
func texts(p *plugin.Plugin) (out []Part) {
	usable := *p
	usable.Disabled = false
	from := skills.Sources{Plugins: assemble.PluginSources([]plugin.Plugin{usable})}
	found, agents := skills.Find(from), skills.FindAgents(from)
	set := commands.Find(from, found)
	inText := func(path string) (details []string) {
		data, _, _ := disk.Read(path, plugin.MaxFile) // an unreadable file is unusable
		for _, m := range inline().FindAllStringSubmatch(string(data), -1) {
			details = append(details, "a command in its text, not run: "+m[1])
		}
		return details
	}
	for _, s := range found.Skills {
		var details []string
		if len(s.AllowedTools) > 0 {
			details = append(details, "allowed-tools, not in force: "+strings.Join(s.AllowedTools, " "))
		}
		if !s.Model {
			details = append(details, "only you can call it")
		}
		out = append(out, Part{KindSkill, s.Name, "", append(details, inText(s.Path)...)})
	}
	for _, c := range set.List {
		if !c.Skill {
			out = append(out, Part{KindCommand, "/" + c.Name, "", append(allowed(c.Path), inText(c.Path)...)})
		}
	}
	for n := range agents.Agents {
		a := &agents.Agents[n]
		tools := "the tools of its parent"
		if a.Tools.Only != nil {
			tools = "tools: " + strings.Join(a.Tools.Only, " ")
		}
		details := []string{tools}
		if len(a.Tools.Without) > 0 {
			details = append(details, "without: "+strings.Join(a.Tools.Without, " "))
		}
		if a.Permission != "" {
			details = append(details, "permission: "+a.Permission)
		}
		if a.Model != "" {
			detail := "model: " + a.Model
			if !strings.Contains(a.Model, "/") {
				detail += ", not in force"
			}
			details = append(details, detail)
		}
		out = append(out, Part{KindAgent, a.Name, "", append(details, a.Warnings...)})
	}
	for _, broken := range slices.Concat(found.Broken, agents.Broken, agents.Hidden, found.Hidden) {
		out = append(out, Part{KindUnusable, relative(p, broken.Error()), "", nil})
	}
	for _, broken := range append(set.Broken, set.Hidden...) {
		out = append(out, Part{KindUnusable, relative(p, broken.Error()), "", nil})
	}
	return out
}

// allowed describes the tools that a command requests.
func allowed(path string) []string {
	data, _, _ := disk.Read(path, plugin.MaxFile) // a readable file a moment ago
	head, _, _ := skills.Split(skills.Clean(string(data)))
	h, err := skills.Parse(head)
	if tools := h.List("allowed-tools"); err == nil && len(tools) > 0 {
		return []string{"allowed-tools, not in force: " + strings.Join(tools, " ")}
	}
	return nil
}

// relative shortens paths of the copy in a message.
func relative(p *plugin.Plugin, message string) string {
	return strings.ReplaceAll(message, p.Root+"/", "")
}

func servers(p *plugin.Plugin) (out []Part) {
	for _, doc := range p.Parts.Servers {
		var all map[string]config.SharedServer
		if json.Unmarshal(doc.JSON, &all) != nil {
			continue // Inventory lists the document as ignored
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			s := all[name]
			out = append(out, server(config.PluginServerName(p.Name, name), &s))
		}
	}
	return out
}

// server describes an MCP server as the plugin's file has it, with all keys that settle reads.
func server(name string, s *config.SharedServer) Part {
	runs := s.URL
	if s.Command != "" || len(s.Args) > 0 {
		runs = config.CommandLine(append([]string{s.Command}, s.Args...))
	}
	details := []string{}
	add := func(given bool, format string, args ...any) {
		if given {
			details = append(details, fmt.Sprintf(format, args...))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Env)) {
		add(true, "variable %s=%s", key, s.Env[key])
	}
	for _, key := range slices.Sorted(maps.Keys(s.Headers)) {
		add(true, "header %s: %s", key, s.Headers[key])
	}
	add(s.Cwd != "", "in %s", s.Cwd)
	add(s.Type != "" && s.Type != "stdio" && s.Type != "http", "type %s", s.Type)
	add(runs != s.URL && s.URL != "", "and the URL %s", s.URL)
	add(s.Timeout != 0, "a call at most %gms", s.Timeout)
	if o := s.OAuth; o != nil {
		add(true, "login with the client ID %q", o.ClientID)
		add(o.CallbackPort != 0, "login redirects to the port %d", o.CallbackPort)
	}
	add(s.Disabled, "disabled")
	return Part{KindServer, name, runs, details}
}

// Summary counts the parts by kind.
func Summary(parts []Part) string {
	var words []string
	for _, kind := range slices.Backward(kinds()) {
		n := 0
		for _, p := range parts {
			if p.Kind == kind {
				n++
			}
		}
		if n > 0 && kind != KindIgnored && kind != KindUnusable {
			words = append(words, terminal.Count(n, kind))
		}
	}
	if len(words) == 0 {
		return "nothing that settle uses"
	}
	return strings.Join(words, ", ")
}

// Difference returns the lines of two inventories that differ, with "-" and "+" before them,
// and then the files that differ.
func Difference(before, after []Part, changed []string) (out []string) {
	lines := func(parts []Part) (list []string) {
		for _, p := range parts {
			list = append(list, p.Line())
		}
		return list
	}
	old, now := lines(before), lines(after)
	for _, line := range old {
		if !slices.Contains(now, line) {
			out = append(out, "- "+line)
		}
	}
	for _, line := range now {
		if !slices.Contains(old, line) {
			out = append(out, "+ "+line)
		}
	}
	for _, file := range changed {
		out = append(out, "file "+exact(file))
	}
	return out
}

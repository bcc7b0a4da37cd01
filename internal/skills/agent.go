package skills

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Format is the format of a file that defines a kind of child agent.
type Format string

// The formats of settle, of Claude Code (https://code.claude.com/docs/en/sub-agents), and of
// opencode (https://opencode.ai/docs/agents).
const (
	FormatSettle   Format = "settle"
	FormatClaude   Format = "claude"
	FormatOpencode Format = "opencode"
)

// Agent is the definition of a kind of child agent.
type Agent struct {
	Name string
	// About is its purpose in one line, Prompt the instructions for the child.
	About, Prompt string
	// Model is a name in the words of the format; empty for the parent's.
	Model string
	Tools AgentTools
	// Permission is allow, ask or deny; empty for the parent's.
	Permission string
	Budget     AgentBudget
	// Background and Worktree are the defaults of a call.
	Background, Worktree bool
	Format               Format
	Path                 string
	// Project reports that the file belongs to the project and not to the user. Plugin is the
	// plugin that has it; "" for none.
	Project bool
	Plugin  string
	// Hash is the hash of the file.
	Hash string
	// Warnings name the parts that settle does not use.
	Warnings []string
}

// AgentTools are the tools of a kind, by the names of its format.
type AgentTools struct {
	Only    []string // nil for all of the parent's
	Without []string
}

// AgentBudget bounds each turn of a child; 0 for the parent's limits.
type AgentBudget struct {
	Steps  int
	Tokens int64
	Cost   float64
	Time   time.Duration
}

// FoundAgents are the result of a search.
type FoundAgents struct {
	// Agents are the usable definitions, by name.
	Agents []Agent
	// Hidden are definitions that are not offered, Broken are unusable files.
	Hidden, Broken []Problem
}

const (
	maxAgents     = 100
	maxAgentFile  = 64 << 10
	maxAgentAbout = 1024
)

// agentPlace is a folder with definitions.
type agentPlace struct {
	Place

	format Format
}

// agentPlaces returns the folders with definitions, nearest first.
func (s Sources) agentPlaces() (out []agentPlace) {
	add := func(project bool, format Format, parts ...string) {
		if parts[0] != "" {
			out = append(out, agentPlace{Place{Dir: filepath.Join(parts...), Project: project}, format})
		}
	}
	for _, dir := range slices.Backward(s.Project.Dirs) {
		if dir == s.Home {
			continue
		}
		add(true, FormatSettle, dir, ".settle", "agents")
		add(true, FormatClaude, dir, ".claude", "agents")
		add(true, FormatOpencode, dir, ".opencode", "agent")
		add(true, FormatOpencode, dir, ".opencode", "agents")
	}
	add(false, FormatSettle, s.Config, "agents")
	add(false, FormatClaude, s.Claude, "agents")
	if s.Home != "" {
		add(false, FormatOpencode, s.Home, ".config", "opencode", "agent")
		add(false, FormatOpencode, s.Home, ".config", "opencode", "agents")
	}
	for _, p := range s.pluginPlaces(func(p *Plugin) []string { return p.Agents }) {
		out = append(out, agentPlace{p, FormatClaude})
	}
	return out
}

// FindAgents searches for definitions of child agents. It only reads files.
func FindAgents(s Sources) (f FoundAgents) {
	for _, p := range s.agentPlaces() {
		for _, path := range s.markdown(p.Place) {
			if len(f.Agents) == maxAgents {
				f.Broken = append(f.Broken, Problem{path, "it was left out: there are too many agents"})
				return f
			}
			f.add(s.readAgent(p, path))
		}
	}
	slices.SortFunc(f.Agents, func(a, b Agent) int { return cmp.Compare(a.Name, b.Name) })
	return f
}

// notOfferedError means that the file defines no child agent.
type notOfferedError struct{ why string }

func (e *notOfferedError) Error() string { return e.why }

func (f *FoundAgents) add(a Agent, err error) {
	var no *notOfferedError
	at := slices.IndexFunc(f.Agents, func(nearer Agent) bool { return nearer.Name == a.Name })
	switch {
	case errors.As(err, &no):
		f.Hidden = append(f.Hidden, Problem{a.Path, no.why})
	case err != nil:
		f.Broken = append(f.Broken, Problem{a.Path, err.Error()})
	case at < 0:
		f.Agents = append(f.Agents, a)
	case f.Agents[at].Hash != a.Hash:
		f.Hidden = append(f.Hidden,
			Problem{a.Path, "it is hidden by the agent of the same name in " + f.Agents[at].Path})
	}
}

// markdown returns the Markdown files of a place, in order.
func (s Sources) markdown(p Place) (out []string) {
	if p.Plugin != nil && filepath.Ext(p.Dir) == ".md" {
		return []string{p.Dir}
	}
	s.walk(p, func(path string, isFolder bool) (enter bool) {
		if !isFolder && filepath.Ext(path) == ".md" {
			out = append(out, path)
		}
		return isFolder
	})
	return out
}

// readAgent reads a definition. The path of the result is also set with an error.
func (s Sources) readAgent(p agentPlace, path string) (Agent, error) {
	a := Agent{Path: path, Project: p.Project, Format: p.format}
	data, size, err := s.Read(p.Place, path, maxAgentFile)
	switch {
	case err != nil:
		return a, err
	case size > maxAgentFile:
		return a, fmt.Errorf("it has %d bytes; the limit is %d", size, maxAgentFile)
	}
	sum := sha256.Sum256(data)
	a.Hash = hex.EncodeToString(sum[:])
	rel, err := filepath.Rel(p.Dir, path)
	if err != nil {
		return a, err
	}
	if rel == "." {
		rel = filepath.Base(path)
	}
	err = a.parse(strings.TrimSuffix(filepath.ToSlash(rel), ".md"), string(data))
	a.Name, a.Plugin, a.Prompt = p.Plugin.Qualified(a.Name), p.Plugin.name(), p.Plugin.Filled(a.Prompt)
	return a, err
}

// parse reads the text of a definition; file is the name of its file.
func (a *Agent) parse(file, text string) error {
	head, body, ok := Split(Clean(text))
	if !ok {
		return errors.New("it does not begin with a head: a line ---, a description, and another line ---")
	}
	h, err := Parse(head)
	if err != nil {
		return err
	}
	a.Name, a.Prompt = h.Text("name"), strings.TrimSpace(body)
	if a.Name == "" || a.Format == FormatOpencode {
		a.Name = file
	}
	a.About = short(strings.Join(strings.Fields(h.Text("description")), " "), maxAgentAbout)
	switch {
	case len(a.Name) > maxName || strings.Trim(a.Name, "abcdefghijklmnopqrstuvwxyz0123456789-_/") != "" ||
		strings.HasPrefix(a.Name, "-"):
		return fmt.Errorf("its name %q is not of at most %d small letters, digits, - and _", a.Name, maxName)
	case a.About == "":
		return errors.New("it has no description of its purpose")
	case a.Prompt == "":
		return errors.New("it says nothing after its head")
	case h.Bool("disable", false) || h.Bool("disabled", false):
		return &notOfferedError{"it is disabled"}
	}
	if a.Model = h.Text("model"); a.Model == "inherit" {
		a.Model = ""
	}
	a.Background = h.Bool("background", false)
	used := []string{"name", "description", "model", "tools", "background", "disable", "disabled"}
	var more []string
	switch a.Format {
	case FormatSettle:
		more, err = a.settle(h)
	case FormatClaude:
		more, err = a.claude(h)
	case FormatOpencode:
		more, err = a.opencode(h)
	}
	a.unused(h, append(used, more...))
	return err
}

func (a *Agent) warn(format string, args ...any) {
	a.Warnings = append(a.Warnings, fmt.Sprintf(format, args...))
}

// unused warns about the keys that settle does not use.
func (a *Agent) unused(h Head, used []string) {
	var keys []string
	for key := range h {
		if !slices.Contains(used, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		a.warn("settle does not use its %s", key)
	}
}

// only reads a list of tools; a key without items is an empty list.
func (a *Agent) only(h Head) {
	if _, there := h["tools"]; there {
		if a.Tools.Only = h.List("tools"); a.Tools.Only == nil {
			a.Tools.Only = []string{}
		}
	}
}

func (a *Agent) settle(h Head) (used []string, err error) {
	a.only(h)
	a.Worktree = h.Bool("worktree", false)
	if a.Permission = h.Text("permission"); !slices.Contains([]string{"", "allow", "ask", "deny"}, a.Permission) {
		err = fmt.Errorf("its permission %q is not one of allow, ask and deny", a.Permission)
	}
	if text := h.Text("timeout"); text != "" {
		var bad error
		if a.Budget.Time, bad = time.ParseDuration(text); bad != nil || a.Budget.Time <= 0 {
			err = errors.Join(err, fmt.Errorf("its timeout %q is no duration such as 10m", text))
		}
	}
	steps, bad := count(h, "max_steps")
	tokens, worse := count(h, "max_tokens")
	cost, worst := number(h, "max_cost")
	a.Budget.Steps, a.Budget.Tokens, a.Budget.Cost = int(steps), tokens, cost
	return []string{"worktree", "permission", "timeout", "max_steps", "max_tokens", "max_cost"},
		errors.Join(err, bad, worse, worst)
}

// number reads a positive number; 0 if there is none.
func number(h Head, key string) (float64, error) {
	text := h.Text(key)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n <= 0 || n > 1e12 {
		return 0, fmt.Errorf("its %s %q is no positive number", key, text)
	}
	return n, nil
}

// count reads a positive whole number; 0 if there is none.
func count(h Head, key string) (int64, error) {
	n, err := number(h, key)
	if err == nil && n != math.Trunc(n) {
		return 0, fmt.Errorf("its %s %q is no whole number", key, h.Text(key))
	}
	return int64(n), err
}

func (a *Agent) claude(h Head) (used []string, err error) {
	a.only(h)
	a.Tools.Without = h.List("disallowedTools")
	steps, err := count(h, "maxTurns")
	a.Budget.Steps = int(steps)
	switch mode := h.Text("permissionMode"); mode {
	case "", "bypassPermissions", "auto":
	case "default":
		a.Permission = "ask"
	case "acceptEdits":
		a.Permission = "ask"
		a.warn("its permissionMode acceptEdits counts as ask: edits are asked about too, unless a rule allows them")
	case "plan", "dontAsk":
		a.Permission = "deny"
	default:
		err = errors.Join(err, fmt.Errorf("its permissionMode %q is unknown", mode))
	}
	switch isolation := h.Text("isolation"); isolation {
	case "":
	case "worktree":
		a.Worktree = true
	default:
		a.warn("settle does not know its isolation %q", isolation)
	}
	return []string{"disallowedTools", "maxTurns", "permissionMode", "isolation"}, err
}

func (a *Agent) opencode(h Head) (used []string, err error) {
	if h.Text("mode") == "primary" {
		return []string{"mode"}, &notOfferedError{"it is for the main session (mode: primary)"}
	}
	tools, rules := h.Map("tools"), h.Map("permission")
	if tools == nil {
		a.only(h)
	}
	a.opencodeTools(tools, func(on string) bool { return on != "false" })
	a.opencodeTools(rules, func(rule string) bool { return rule != "deny" })
	for _, tool := range sorted(rules) {
		switch rules[tool] {
		case "allow", "deny":
		case "ask":
			a.Permission = "ask"
		default: // a map of patterns
			a.Permission = "ask"
			a.warn("its rules for %s are not in force: calls are asked about", tool)
		}
	}
	if rule := h.Text("permission"); rule == "ask" || rule == "deny" {
		a.Permission = rule
	}
	steps, err := count(h, "steps")
	limit, bad := count(h, "maxSteps")
	a.Budget.Steps = int(max(steps, limit))
	return []string{"mode", "permission", "steps", "maxSteps", "hidden"}, errors.Join(err, bad)
}

// opencodeTools takes away the tools whose value does not keep them. If * is taken away, only the
// tools that have a value of their own are left.
func (a *Agent) opencodeTools(values map[string]string, keeps func(string) bool) {
	var kept, removed []string
	for _, tool := range sorted(values) {
		switch {
		case keeps(values[tool]):
			kept = append(kept, tool)
		case tool != everyTool:
			removed = append(removed, tool)
		}
	}
	a.Tools.Without = append(a.Tools.Without, removed...)
	rest, all := values[everyTool]
	if !all || keeps(rest) {
		return
	}
	if a.Tools.Only != nil {
		kept = slices.DeleteFunc(kept, func(tool string) bool { return !slices.Contains(a.Tools.Only, tool) })
	}
	if a.Tools.Only = append([]string{}, kept...); len(kept) == 0 {
		a.warn("it takes every tool away")
	}
}

// everyTool is the name for all tools.
const everyTool = "*"

func sorted(m map[string]string) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

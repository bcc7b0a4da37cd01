package claude

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
)

// The permission modes, by the names that clients have for them.
const (
	modeDefault = "default"
	modeEdits   = "acceptEdits"
	modePlan    = "plan"
	modeBypass  = "bypassPermissions"
	modeDont    = "dontAsk"
)

// modes returns what each permission mode is to settle.
func modes() map[string]assemble.Mode {
	return map[string]assemble.Mode{
		modeDefault: {Permission: settle.Ask},
		modeEdits: {
			Permission: settle.Ask,
			Rules:      []config.Rule{{Tool: "edit", Pattern: "**", Decision: settle.Allow}},
		},
		modePlan:   assemble.PlanMode(),
		modeBypass: {Permission: settle.Allow},
		modeDont:   {Permission: settle.Ask}, // the driver answers instead of the client
	}
}

// modeFor returns the mode that corresponds to a configured permission.
func modeFor(permission settle.Permission) string {
	switch permission {
	case settle.Allow:
		return modeBypass
	case settle.Deny:
		return modePlan
	}
	return modeDefault
}

// specs splits a list of tools at commas or spaces. Within parentheses, which restrict a
// tool, both are part of the name.
func specs(list ...string) []string {
	var out []string
	for _, text := range list {
		depth, begin := 0, 0
		for n, r := range text + "," {
			switch {
			case r == '(':
				depth++
			case r == ')':
				depth--
			case depth <= 0 && (r == ',' || r == ' '):
				if one := strings.TrimSpace(text[begin:n]); one != "" {
					out = append(out, one)
				}
				begin = n + 1
			}
		}
	}
	return out
}

// ruleSet is what lists of tools amount to.
type ruleSet struct {
	rules []config.Rule
	// allTools are settle's tools that were named without a rule.
	allTools []string
	// unknown are names of tools that settle does not have.
	unknown []string
}

// rulesFor returns the rules for tools as Claude's clients name them:
// "Bash(git log:*)", "Edit(src/**)", "Read".
func rulesFor(decision settle.Permission, list []string) ruleSet {
	var out ruleSet
	for _, spec := range list {
		name, content, scoped := strings.Cut(spec, "(")
		content = strings.TrimSuffix(content, ")")
		tools := toolsNamed(name)
		if name == "NotebookEdit" {
			tools = []string{"edit"}
		}
		if len(tools) == 0 {
			out.unknown = append(out.unknown, spec)
			continue
		}
		if (!scoped || content == "*") && !strings.HasPrefix(name, serverPrefix) { // those are offered
			out.allTools = append(out.allTools, tools...)
			if name == "Bash" {
				out.allTools = append(out.allTools, "job")
			}
		}
		for _, tool := range tools {
			pattern := ""
			if scoped && content != "*" {
				pattern = config.ClaudePattern(tool, content, "")
			}
			r := config.Rule{Tool: tool, Pattern: pattern, Decision: decision}
			if !slices.Contains(out.rules, r) {
				out.rules = append(out.rules, r)
			}
		}
	}
	return out
}

// directoryRules are for further directories that the client works in. Files of settle or
// of other agents are not edited without a question.
func (p *policy) directoryRules() []config.Rule {
	var out []config.Rule
	for _, dir := range p.dirs {
		pattern := assemble.Below(dir)
		out = append(out, config.Rule{Tool: "read", Pattern: pattern, Decision: settle.Allow})
		if p.mode == modeEdits && (p.protected == nil || p.protected(dir) == "") {
			out = append(out, config.Rule{Tool: "edit", Pattern: pattern, Decision: settle.Allow})
		}
	}
	return out
}

// modelName returns settle's name for a model that a client asks for: clients of
// Claude's leave out the provider. "" leaves the choice to the configuration.
func modelName(name string, providers map[string]config.Provider) string {
	short := map[string]string{
		"sonnet":   "claude-sonnet-5-5",
		"opus":     "claude-opus-5-5",
		"haiku":    "claude-haiku-5-5",
		"best":     "claude-opus-5-5",
		"opusplan": "claude-opus-5-5",
	}
	name = strings.TrimSuffix(name, "[1m]")
	if name == "" || name == "default" || name == "inherit" {
		return ""
	}
	if full := short[name]; full != "" {
		name = full
	}
	if provider, _, ok := strings.Cut(name, "/"); ok {
		if _, known := providers[provider]; known {
			return name
		}
	}
	return "anthropic/" + name
}

// policy is the permission mode in force, with the rules that came from the
// client. It belongs to the driver.
type policy struct {
	inForce *assemble.Policy
	mode    string
	dirs    []string
	// protected returns why edits in a directory take a question in every mode; empty if
	// they do not. nil is none.
	protected func(dir string) string
	// flagRules came with the command line, clientRules during the session.
	flagRules, clientRules []config.Rule
	version                int
	// ceiling is the permission that the user configured; empty if none is.
	ceiling settle.Permission
}

// inForceMode is the name of the mode in force, for any goroutine.
func (p *policy) inForceMode() string {
	name, _, _ := strings.Cut(p.inForce.Mode().Name, " ")
	return name
}

// set puts a mode into force.
func (p *policy) set(name string) error {
	m, ok := modes()[name]
	if !ok {
		return fmt.Errorf(
			"settle has no permission mode %q; its modes are %s", name, strings.Join(names(modes()), ", "),
		)
	}
	if !assemble.Within(p.ceiling, m) {
		return fmt.Errorf(
			"the permission mode %q allows more than the user configured (permission %q); "+
				"a client can only choose a stricter one",
			name, p.ceiling,
		)
	}
	p.mode = name
	p.apply(m)
	return nil
}

// add puts further rules into force.
// Those that allow more than the user configured are left out by the agent.
func (p *policy) add(rules ...config.Rule) {
	p.clientRules = append(p.clientRules, rules...)
	p.apply(modes()[p.mode])
}

func (p *policy) apply(m assemble.Mode) {
	p.version++
	if p.ceiling == settle.Review && p.mode == modeDefault { // the user's own reviewer comes first
		m.Permission = settle.Review
	}
	m.Name = fmt.Sprintf("%s %d", p.mode, p.version) // judges are kept by the name
	m.Rules = slices.Concat(m.Rules, p.directoryRules(), p.flagRules, p.clientRules)
	if p.inForce == nil {
		p.inForce = assemble.NewPolicy(m)
		return
	}
	p.inForce.Set(m)
}

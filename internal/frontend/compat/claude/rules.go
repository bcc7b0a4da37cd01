package claude

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/config/claudecode"
)

// The permission modes, by the names that clients have for them.
const (
	modeDefault = "default"
	modeEdits   = "acceptEdits"
	modePlan    = "plan"
	modeBypass  = "bypassPermissions"
	modeDont    = "dontAsk"
)

// modes returns settle's mode for each permission mode of Claude.
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
		return modeDont
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

// ruleSet is the meaning of lists of tools.
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
		if len(tools) == 0 {
			out.unknown = append(out.unknown, spec)
			continue
		}
		// The tools of a server stay offered: only the rules for them apply.
		if (!scoped || content == "*") && !strings.HasPrefix(name, claudecode.ServerPrefix) {
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
func (p *policy) directoryRules(mode string) []config.Rule {
	var out []config.Rule
	for _, dir := range p.dirs {
		pattern := assemble.Below(dir)
		out = append(out, config.Rule{Tool: "read", Pattern: pattern, Decision: settle.Allow})
		if mode == modeEdits && (p.protected == nil || p.protected(dir) == "") {
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
	work    string // mode of the work on an accepted plan whose call has not run; empty for none
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

// planning reports whether plan mode is on. If an accepted plan has ended it, the mode of the work
// is in force.
func (p *policy) planning() bool {
	name := p.mode
	if p.inForce != nil {
		name = p.inForceMode()
	}
	if _, known := modes()[name]; known && p.mode == modePlan && name != modePlan {
		p.mode, p.work = name, ""
	}
	return p.mode == modePlan
}

// change puts a mode into force; with an accepted plan, when the plan's call runs.
func (p *policy) change(name string, accepted bool) error {
	if !accepted || !p.planning() {
		return p.set(name)
	}
	if _, err := p.allowed(name); err != nil {
		return err
	}
	p.begin(name)
	return nil
}

// begin has the work on the accepted plan begin in the mode.
func (p *policy) begin(name string) {
	if name == modePlan {
		return
	}
	p.work = name
	p.add()
}

// set puts a mode into force.
func (p *policy) set(name string) error {
	m, err := p.allowed(name)
	if err != nil {
		return err
	}
	p.mode, p.work = name, ""
	p.apply(m)
	return nil
}

// allowed returns the mode with the name, which the user's configuration must allow. It always
// allows plan mode and the mode that asks nothing, which are as strict as the configuration.
func (p *policy) allowed(name string) (assemble.Mode, error) {
	m, ok := modes()[name]
	if !ok {
		return m, fmt.Errorf(
			"settle has no permission mode %q; its modes are %s", name, strings.Join(names(modes()), ", "),
		)
	}
	if m.Plan || name == modeDont {
		return assemble.Tighten(p.ceiling, m), nil
	}
	if !assemble.Within(p.ceiling, m) {
		return m, fmt.Errorf(
			"the permission mode %q allows more than the user configured (permission %q); "+
				"a client can only choose a stricter one",
			name, p.ceiling,
		)
	}
	return m, nil
}

// add puts further rules into force. The agent leaves out rules that allow more than the user's
// configuration.
func (p *policy) add(rules ...config.Rule) {
	p.clientRules = append(p.clientRules, rules...)
	if p.planning() && p.work != "" {
		p.inForce.SetWork(p.complete(p.work, assemble.Tighten(p.ceiling, modes()[p.work])))
	}
	p.apply(assemble.Tighten(p.ceiling, modes()[p.mode]))
}

func (p *policy) apply(m assemble.Mode) {
	m = p.complete(p.mode, m)
	if p.inForce == nil {
		p.inForce = assemble.NewPolicy(m)
		return
	}
	p.inForce.Set(m)
}

// complete adds the rules in force to the mode with the name.
func (p *policy) complete(name string, m assemble.Mode) assemble.Mode {
	p.version++
	if p.ceiling == settle.Review && name == modeDefault { // the user's own reviewer comes first
		m.Permission = settle.Review
	}
	m.Name = fmt.Sprintf("%s %d", name, p.version) // judges are kept by the name
	m.Rules = slices.Concat(m.Rules, p.directoryRules(name), p.flagRules, p.clientRules)
	return m
}

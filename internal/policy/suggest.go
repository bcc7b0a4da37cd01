package policy

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy/effects"
)

// suggest adds to the reason of a question about git the rules that allow the call: rules for its
// subcommands, else rules for exactly its commands. It adds none if the call is asked about with these too.
func (p *Policy) suggest(l layer, c toolCall, verdicts []verdict, j *settle.Judgement) {
	if l.trial || l.Plan {
		return
	}
	for _, pattern := range []func(toolCall, []effects.Word) string{toolCall.widePattern, toolCall.exactPattern} {
		trial, list := l, []string(nil)
		trial.trial, trial.rules = true, slices.Clip(l.rules)
		for i, e := range c.effects {
			if len(e.words) == 0 || !c.needsRule(e, verdicts[i]) {
				continue
			}
			r, err := newRule(config.Rule{
				Tool: "shell", Pattern: pattern(c, e.words), Decision: event.Allow, Sandbox: event.NoSandbox,
			}, p.config.Dir, p.config.Home)
			if err != nil {
				break
			}
			if trial.rules = append(trial.rules, r); !slices.Contains(list, r.Pattern) {
				list = append(list, r.Pattern)
			}
		}
		if len(list) == 0 || p.judge(trial, c).Decision != event.Allow {
			continue
		}
		j.Why += fmt.Sprintf(`; a rule that allows it: [[rules]] tool = "shell", pattern = %q, `+
			`decision = "allow", sandbox = "off"`, list[0])
		for _, more := range list[1:] {
			j.Why += fmt.Sprintf(", and the same with pattern = %q", more)
		}
		return
	}
}

// needsRule reports whether a command runs outside of the sandbox only with a rule.
func (c toolCall) needsRule(e effect, v verdict) bool {
	switch g, isGit := gitCommand(c.workspace.dir, e.words); {
	case v.Permission == event.Allow && v.rule != byDefault:
		return v.sandbox != event.NoSandbox
	default:
		return v.Permission != event.Allow || isGit && g.changes()
	}
}

// widePattern is the pattern of a rule for a subcommand of git with any words after it. For a command that
// contacts a remote, it has the remote's name. For other commands, it is exactPattern.
func (c toolCall) widePattern(words []effects.Word) string {
	at := filepath.Clean(absolute(c.workspace.dir, c.Workdir))
	g, isGit := gitCommand(at, words)
	if !isGit {
		return c.exactPattern(words)
	}
	upTo := len(words) - len(g.args)
	if slices.Contains([]string{"push", "fetch", "pull"}, g.name) {
		n := slices.IndexFunc(g.args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
		if n < 0 || g.local(g.args[n]) {
			return c.exactPattern(words)
		}
		upTo += n + 1
	}
	return c.exactPattern(words[:upTo]) + " *"
}

// exactPattern is the pattern of a rule for a command with these words. Characters that a pattern cannot
// contain, and words that the shell expands, are a "*". Patterns name the system's programs without their directory.
func (c toolCall) exactPattern(words []effects.Word) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("&;|<>`$", r) {
				return '*'
			}
			return r
		}, word.Text)
		if word.Text == "" || word.Glob {
			list[i] = "*"
		}
	}
	if dir := path.Dir(list[0]); dir == "/bin" || dir == "/usr/bin" {
		list[0] = path.Base(list[0])
	}
	return strings.Join(list, " ")
}

package policy

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy/effects"
)

// suggest adds to the reason of a question about git the rules that allow the call. It adds none if rules would
// allow more than patternOf describes, if the call is asked about with these too, or if it has commands that must
// not share a call outside of the sandbox with git.
func (p *Policy) suggest(l layer, c toolCall, verdicts []verdict, j *settle.Judgement) {
	if l.trial || l.Plan || !c.sharesAll() {
		return
	}
	trial, list := l, []string(nil)
	trial.trial, trial.rules = true, slices.Clip(l.rules)
	for i, e := range c.effects {
		if len(e.words) == 0 || !c.needsRule(e, verdicts[i]) {
			continue
		}
		pattern := c.patternOf(e.words)
		r, err := newRule(config.Rule{
			Tool: "shell", Pattern: pattern, Decision: event.Allow, Sandbox: event.NoSandbox,
		}, p.config.Dir, p.config.Home)
		if pattern == "" || err != nil {
			return
		}
		if trial.rules = append(trial.rules, r); !slices.Contains(list, pattern) {
			list = append(list, pattern)
		}
	}
	if len(list) == 0 || p.judge(trial, c).Decision != event.Allow {
		return
	}
	j.Why += fmt.Sprintf(`; a rule that allows it: [[rules]] tool = "shell", pattern = %q, `+
		`decision = "allow", sandbox = "off"`, list[0])
	for _, more := range list[1:] {
		j.Why += fmt.Sprintf(", and the same with pattern = %q", more)
	}
}

// needsRule reports whether a command runs outside of the sandbox only with a rule.
func (c toolCall) needsRule(e effect, v verdict) bool {
	switch g, isGit := gitCommand(c.workspace.dir, e.words); {
	case v.Permission == event.Allow && v.rule != byDefault:
		return v.sandbox != event.NoSandbox
	default:
		return v.Permission != event.Allow || !e.known || isGit && g.changes()
	}
}

// patternOf returns the pattern of a rule for exactly a command, or for "git add" with any words: with no words
// does that destroy, contact a remote or run a program that the words name. Programs of the system are without
// their directory. The pattern is empty if it would allow other commands that differ in more than a message.
func (c toolCall) patternOf(words []effects.Word) string {
	g, isGit := gitCommand(filepath.Clean(absolute(c.workspace.dir, c.Workdir)), words)
	anyWords := isGit && g.name == "add"
	if anyWords {
		words = words[:len(words)-len(g.args)]
	}
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("&;|<>`$", r) {
				return '*'
			}
			return r
		}, word.Text)
		switch {
		case word.Text == "" || word.Glob,
			strings.Contains(list[i], "*") && !(isGit && i > 0 && g.isMessage(words[i-1].Text, word.Text)),
			strings.Trim(list[i], "*") == "": // any number of words
			return ""
		}
	}
	if last := &list[len(list)-1]; strings.HasSuffix(*last, "*") {
		*last += "*" // one would match further words
	}
	if dir := path.Dir(list[0]); dir == "/bin" || dir == "/usr/bin" {
		list[0] = path.Base(list[0])
	}
	pattern := strings.Join(list, " ")
	if anyWords {
		pattern += " *"
	}
	return pattern
}

// isMessage reports whether a word of the command, behind another one, is a message.
func (g gitCall) isMessage(before, word string) bool {
	return slices.Contains([]string{"commit", "tag", "merge", "notes", "stash"}, g.name) &&
		(messageOption().MatchString(before) || strings.HasPrefix(word, "--message="))
}

// messageOption matches an option of git whose value is a message in the next word.
var messageOption = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:-[aqs]*m|--message)$`)
})

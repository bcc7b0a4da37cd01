package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/policy/effects"
)

// verdict is the decision about one effect.
type verdict struct {
	event.Permission
	rule, why string
	sandbox   event.Sandbox // of a rule that names one
	uncertain bool          // a rule that asks or denies can apply
	sweeping  bool          // of a rule of the mode that names no command
}

func because(p event.Permission, rule, why string) verdict {
	return verdict{Permission: p, rule: rule, why: why}
}

const byDefault = "default"

// stricter returns the verdict that counts: the stricter one, and among two allowing ones
// the verdict of a rule, which has more information.
func stricter(a, b verdict) verdict {
	uncertain := a.uncertain || b.uncertain
	if b.weight() > a.weight() {
		a = b
	}
	a.uncertain = uncertain
	return a
}

func (v verdict) weight() int {
	if v.Permission == event.Allow && v.rule != byDefault {
		return 1
	}
	return 2 * v.Strictness()
}

// verdict judges an effect. A rule that denies always wins; among other rules the last
// match wins. If a rule can apply, neither another rule nor the default allows the effect.
func (l layer) verdict(c toolCall, e effect) verdict {
	var decided, possible verdict
	for _, r := range slices.Backward(l.rules) {
		if r.Decision == event.Allow {
			if decided.rule == "" && r.allows(c, e) {
				decided = l.allowed(c, e, r)
			}
			continue
		}
		found := r.forbids(c, e)
		switch {
		case found == no:
		case found == yes && r.Decision == event.Deny:
			return because(event.Deny, r.String(), r.String()+" denies it: "+e.text)
		case r.Decision == event.Deny:
			possible = stricter(possible,
				because(event.Ask, r.String(), "it may be what "+r.String()+" is about: "+e.text))
		case decided.rule == "":
			question := because(event.Ask, r.String(), r.String()+" asks about it: "+e.text)
			if found == yes && !r.Tightens { // otherwise the rule does not loosen the decision without it
				decided = question
			}
			possible = stricter(possible, question)
		}
	}
	if decided.rule == "" {
		decided = l.byDefault(c, e)
	}
	v := stricter(decided, possible)
	v.uncertain = possible.Permission != ""
	return v
}

// allowed is the verdict of a rule. If the default is to ask, files with secrets still need
// an approval unless the rule names them, and every write also does.
func (l layer) allowed(c toolCall, e effect, r rule) verdict {
	v := because(event.Allow, r.String(), r.String()+" allows it")
	v.sandbox, v.sweeping = r.Sandbox, r.ofMode && r.Pattern == ""
	if l.Mode.Permission == event.Allow || r.Pattern == "" && r.Tool == "*" {
		return v
	}
	for _, part := range e.parts {
		switch {
		case part.kind == effects.Writes:
			v = stricter(v, l.verdict(c, part))
		case part.place.secret() && !strings.Contains(r.Pattern, path.Base(slashed(part.place.named))):
			return l.undecided("it names " + part.place.String() + ", which by its name holds secrets")
		}
	}
	return v
}

// undecided is the verdict without a rule that allows.
func (l layer) undecided(why string) verdict {
	if l.Mode.Permission == event.Allow {
		why = "the default is to allow"
	}
	return because(l.Mode.Permission, byDefault, why)
}

// mayHide reports whether a script that cannot be analysed can contain a command that the
// rule asks about or denies.
func (r rule) mayHide() bool {
	return r.Decision != event.Allow && !r.Imported
}

// byDefault is the verdict if no rule decides.
func (l layer) byDefault(c toolCall, e effect) verdict {
	all := l.Mode.Permission == event.Allow
	switch {
	case all && e.kind == hidden && (c.tool == "shell" || c.tool == "job") &&
		slices.ContainsFunc(l.rules, rule.mayHide):
		return because(event.Ask, "rules", "it cannot be seen whether a rule is about it, since "+e.why)
	case l.Mode.Permission == event.Deny && !c.readOnly:
		return because(event.Deny, byDefault, "only tools that change nothing may run")
	case e.why != "":
		return l.undecided(e.why)
	}
	best := because(event.Allow, byDefault, "it only reads")
	for _, part := range e.parts {
		if part.kind != hidden || !all { // if every call is allowed, text that the policy cannot judge is allowed
			best = stricter(best, l.verdict(c, part))
		}
	}
	return best
}

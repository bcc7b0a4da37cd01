package policy

import (
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/policy/effects"
)

// reviewable reports whether a reviewer can allow a call about which a person would be asked:
// only a call that no rule of the user is about, that stays in the working directory and in the
// sandbox, if there is one, and that destroys nothing. A person decides about all other calls.
func (p *Policy) reviewable(l layer, c toolCall, verdicts []verdict, j settle.Judgement) bool {
	if j.Rule != byDefault || c.Outside || c.releases() || c.showsSecret() {
		return false
	}
	for _, v := range verdicts {
		if v.uncertain || v.Permission == event.Ask && v.rule != byDefault {
			return false
		}
	}
	for _, e := range c.effects {
		if e.kind == starts || slices.ContainsFunc(append([]effect{e}, e.parts...), effect.leaves) {
			return false
		}
	}
	if c.tool != "shell" {
		return true
	}
	confined := p.config.Sandbox != nil && p.config.Sandbox(l.Mode).On()
	return len(c.destructive()) == 0 && (!confined || j.Sandbox.On())
}

// leaves reports whether the effect is about a path outside of the working directory, or about
// one that only a rule that names it allows.
func (e effect) leaves() bool {
	switch e.kind {
	case effects.Reads, effects.Writes, effects.Looks, names:
		return e.sensitive || !e.place.inside || e.place.guarded() || e.place.secret()
	}
	return false
}

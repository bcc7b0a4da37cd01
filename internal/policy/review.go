package policy

import (
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/policy/effects"
	"github.com/settle-agent/settle/tool/web"
)

// reviewable reports whether a reviewer can allow a call about which a person would be asked. It
// is a call of one of settle's own tools whose effects are known. No rule of the user is about it,
// it stays in the working directory and destroys nothing, and a command has a sandbox. A person
// decides about all other calls.
func reviewable(c toolCall, verdicts []verdict, j settle.Judgement) bool {
	if j.Rule != byDefault || c.Outside || c.releases() || c.showsSecret() || !reviewed(c.tool) {
		return false
	}
	for _, v := range verdicts {
		if v.uncertain || v.Permission == event.Ask && v.rule != byDefault {
			return false
		}
	}
	for _, e := range c.effects {
		if e.kind == starts || e.kind == hidden || slices.ContainsFunc(append([]effect{e}, e.parts...), effect.leaves) {
			return false
		}
	}
	return c.tool != "shell" || len(c.destructive()) == 0 && j.Sandbox.On()
}

// reviewed reports whether calls of the tool can be reviewed. The effects of tools of MCP servers
// and of a job's input are unknown.
func reviewed(tool string) bool {
	return tool == "shell" || isEditor(tool) || isReader(tool) || tool == web.FetchName || tool == web.SearchName
}

// leaves reports whether the effect is about a path outside of the working directory, or about
// one that only a rule that names it allows.
func (e effect) leaves() bool {
	switch e.kind {
	case effects.Reads, effects.Writes, effects.Looks, names:
		return e.sensitive || !e.place.inside || e.place.guarded() || e.place.secret()
	}
	return e.sensitive
}

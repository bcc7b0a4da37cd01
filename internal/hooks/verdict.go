package hooks

import (
	"cmp"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
)

// NotePrefix begins a note with a hook's text for the model.
const NotePrefix = "[From a hook]\n"

// Verdict combines the responses of all hooks of an occasion. The zero Verdict has no effect.
type Verdict struct {
	// Decision is the strictest response. Only the user's own hooks can allow, and only all
	// aspects of an occasion together. Reason explains the decision to the model and to people.
	Decision event.Permission
	Reason   string
	// Arguments replace the call's arguments; empty changes nothing.
	Arguments string
	// Context is for the model.
	Context []string
	// Stop ends the turn; Why is the reason.
	Stop bool
	Why  string
}

// Denied reports whether the hooks refused the occasion.
func (v Verdict) Denied() bool { return v.Decision == event.Deny }

// opinion is the response of a hook about one aspect of an occasion.
type opinion struct {
	hook *hook
	key  string // of the aspect
	response
}

// of names the plugin of a hook after the hook's words, since a plugin's author is not the user.
func (o opinion) of() string {
	if plugin, is := strings.CutPrefix(o.hook.Source, "plugin "); is {
		return " (from a hook of the plugin " + plugin + ")"
	}
	return ""
}

// allows reports whether the hook may allow the aspect, and does.
func (o opinion) allows() bool { return o.Decision == event.Allow && o.hook.Own }

// combine combines opinions about an occasion. It is allowed only if each of its aspects is.
func combine(aspects []aspect, opinions []opinion) (v Verdict) {
	allowed, reason := map[string]bool{}, ""
	for _, o := range opinions {
		switch {
		case o.allows():
			allowed[o.key] = true
			reason = cmp.Or(reason, o.Reason)
		case strictness(o.Decision) > strictness(v.Decision): // an allowance that does not count has none
			v.Decision, v.Reason = o.Decision, o.Reason+o.of()
		}
		if o.Context != "" {
			v.Context = append(v.Context, o.Context+o.of())
		}
		if o.Stop && !v.Stop {
			v.Stop, v.Why = true, o.Reason
		}
	}
	missing := func(a aspect) bool { return !allowed[a.key] }
	if v.Decision == "" && len(allowed) > 0 && !slices.ContainsFunc(aspects, missing) {
		v.Decision, v.Reason = event.Allow, reason
	}
	return v
}

func strictness(p event.Permission) int {
	switch p {
	case event.Deny:
		return 2
	case event.Ask:
		return 1
	}
	return 0
}

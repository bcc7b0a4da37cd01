package policy

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
)

// verdict is what the policy says of one effect.
type verdict struct {
	event.Permission
	rule, why string
}

const byDefault = "default"

// weight orders verdicts: the strictest counts, and of several that allow one
// by a rule says more.
func (v verdict) weight() int {
	switch {
	case v.Permission == event.Deny:
		return 3
	case v.Permission == event.Ask:
		return 2
	case v.rule != byDefault:
		return 1
	}
	return 0
}

// verdict judges an effect. What may be denied by a rule is not allowed by
// another, nor by default.
func (l layer) verdict(c call, e effect) verdict {
	denied := l.denied(c, e)
	if denied.Permission == event.Deny {
		return denied
	}
	if v := l.ruled(c, e, l.rules); v.Permission == event.Deny || denied.Permission != event.Ask {
		return v
	}
	return denied
}

// ruled is what the first of the rules, from the last on, says that does not
// deny, or else the default.
func (l layer) ruled(c call, e effect, rules []rule) verdict {
	for i := len(rules) - 1; i >= 0; i-- {
		r := rules[i]
		if r.Decision == event.Allow && r.allows(c.tool, c.ground, e) {
			return l.allowed(c, e, r)
		}
		if r.Decision != event.Ask {
			continue
		}
		found := r.forbids(c, e)
		if found == no {
			continue
		}
		if found == maybe || r.Tightens {
			// It does not loosen what would be denied without it.
			if v := l.ruled(c, e, rules[:i]); v.Permission == event.Deny {
				return v
			}
		}
		return verdict{event.Ask, r.String(), r.String() + " asks about it: " + e.text}
	}
	return l.byDefault(c, e)
}

// denied says whether a rule denies the effect; Ask if one may.
func (l layer) denied(c call, e effect) verdict {
	var doubt verdict
	for _, r := range l.rules {
		if r.Decision == event.Allow {
			continue
		}
		found := no
		if r.Decision == event.Deny {
			found = r.forbids(c, e)
		}
		switch found = max(found, r.touches(c, e)); {
		case found == yes && r.Decision == event.Deny:
			return verdict{event.Deny, r.String(), r.String() + " denies it: " + e.text}
		case found != no && doubt.Permission == "":
			doubt = verdict{event.Ask, r.String(), "it may be what " + r.String() + " is about: " + e.text}
		}
	}
	return doubt
}

// touches holds the files that a command works on against a rule for paths.
// Of a command that is not known, each word may be one.
func (r rule) touches(c call, e effect) match {
	if e.kind != runs || r.path == "" {
		return no
	}
	best := no
	for _, part := range e.parts {
		best = max(best, r.forbids(c, part))
	}
	if best != no || e.known {
		return best
	}
	for _, place := range c.places(e) {
		for _, kind := range []kind{reads, writes} {
			if r.forbids(c, effect{kind: kind, place: place}) != no {
				return maybe
			}
		}
	}
	return no
}

// places are those that the words of a command may be the paths of.
func (c call) places(e effect) (list []place) {
	for _, w := range e.words[1:] {
		text := w.Text
		if _, value, ok := strings.Cut(text, "="); ok {
			text = value
		}
		if !strings.ContainsAny(text, "/.") || strings.ContainsAny(text, "\x00\n") {
			continue
		}
		for _, dir := range append(e.dirs, c.ground.dir) {
			found, _ := c.ground.locateAll(dir, filepath.FromSlash(text))
			list = append(list, found...)
		}
	}
	return list
}

// allowed is by a rule. Even so, where one is asked by default, one is asked
// about files with secrets, unless the rule names them, and about what is
// written.
func (l layer) allowed(c call, e effect, r rule) verdict {
	v := verdict{event.Allow, r.String(), r.String() + " allows it"}
	if e.kind != runs || l.Mode.Permission == event.Allow || r.Pattern == "" && r.Tool == "*" {
		return v
	}
	for _, place := range c.places(e) {
		if place.secret() && !strings.Contains(r.Pattern, path.Base(slashed(place.named))) {
			return l.undecided("it names " + place.String() + ", which by its name holds secrets")
		}
	}
	for _, part := range e.parts {
		if part.kind == writes {
			if w := l.verdict(c, part); w.weight() > v.weight() {
				v = w
			}
		}
	}
	return v
}

// undecided is what no rule allows.
func (l layer) undecided(why string) verdict {
	if l.Mode.Permission == event.Allow {
		return verdict{event.Allow, byDefault, "the default is to allow"}
	}
	return verdict{l.Mode.Permission, byDefault, why}
}

// byDefault decides where no rule does.
func (l layer) byDefault(c call, e effect) verdict {
	switch {
	case l.Mode.Permission == event.Allow && e.kind == hidden && slices.ContainsFunc(l.rules, func(r rule) bool { return r.guards(c.tool) }):
		return verdict{event.Ask, "rules", "it cannot be seen whether a rule is about it, since " + e.why}
	case l.Mode.Permission == event.Deny && !c.readOnly:
		return verdict{event.Deny, byDefault, "only tools that change nothing may run"}
	case e.why != "":
		return l.undecided(e.why)
	}
	best := verdict{event.Allow, byDefault, "it only reads"}
	if l.Mode.Permission == event.Allow {
		best.why = "the default is to allow"
	}
	for _, part := range e.parts {
		v := l.verdict(c, part)
		if part.kind == hidden && l.Mode.Permission == event.Allow {
			continue // what the command runs is its own affair
		}
		if v.weight() > best.weight() {
			best = v
		}
	}
	return best
}

package policy

import (
	"path/filepath"
	"strings"
)

// verdict is what the policy says of one deed.
type verdict struct {
	Decision
	rule, why string
}

const byDefault = "default"

// weight orders verdicts: the strictest counts, and of several that allow one
// by a rule says more.
func (v verdict) weight() int {
	switch {
	case v.Decision == Deny:
		return 3
	case v.Decision == Ask:
		return 2
	case v.rule != byDefault:
		return 1
	}
	return 0
}

// verdict judges a deed:
//
//	denied by a rule ─► approved for the session ─► the last other rule ─► the
//	default; what may be denied by a rule is not allowed by those two
func (p *Policy) verdict(a act, d deed) verdict {
	denied := p.denied(a, d)
	switch {
	case denied.Decision == Deny:
		return denied
	case p.remembers(a, d):
		return verdict{Allow, "approved for the session", "it was approved for the session"}
	}
	v := p.ruled(a, d, p.rules)
	if denied.Decision == Ask && v.Decision != Deny {
		return denied
	}
	return v
}

// ruled is what the first of the rules, from the last on, says that does not
// deny, or else the default.
func (p *Policy) ruled(a act, d deed, rules []rule) verdict {
	for i := len(rules) - 1; i >= 0; i-- {
		r := rules[i]
		if r.Decision == Allow && r.allows(a.Tool, a.ground, d) {
			return p.allowed(a, d, r)
		}
		if r.Decision != Ask {
			continue
		}
		found := r.forbids(a.Tool, a.ground, d)
		if found == no {
			continue
		}
		if found == maybe || r.Tightens {
			// It does not loosen what would be denied without it.
			if v := p.ruled(a, d, rules[:i]); v.Decision == Deny {
				return v
			}
		}
		return verdict{Ask, r.String(), r.String() + " asks about it: " + d.text}
	}
	return p.byDefault(a, d)
}

// denied says whether a rule denies the deed; Ask if one may.
func (p *Policy) denied(a act, d deed) verdict {
	var doubt verdict
	for _, r := range p.rules {
		if r.Decision == Allow {
			continue
		}
		found := no
		if r.Decision == Deny {
			found = r.forbids(a.Tool, a.ground, d)
		}
		found = max(found, p.touched(a, d, r))
		switch {
		case found == yes && r.Decision == Deny:
			return verdict{Deny, r.String(), r.String() + " denies it: " + d.text}
		case found != no && doubt.Decision == "":
			doubt = verdict{Ask, r.String(), "it may be what " + r.String() + " is about: " + d.text}
		}
	}
	return doubt
}

// touched holds the paths that a command names against a rule for paths.
func (p *Policy) touched(a act, d deed, r rule) match {
	if d.kind != runs || r.path == "" {
		return no
	}
	best := no
	for _, t := range d.touches {
		best = max(best, r.forbids(a.Tool, a.ground, t))
	}
	if best != no || d.safe {
		return best
	}
	for _, place := range a.places(d) {
		for _, kind := range []kind{reads, writes} {
			if r.forbids(a.Tool, a.ground, deed{kind: kind, place: place}) != no {
				return maybe
			}
		}
	}
	return no
}

// places are those that the words of a command may be the paths of.
func (a act) places(d deed) []place {
	var list []place
	at := d.at
	if at == "" {
		at = a.ground.dir
	}
	for i, w := range d.words {
		if i == 0 || !w.known {
			continue
		}
		text := w.text
		if _, value, ok := strings.Cut(text, "="); ok {
			text = value
		}
		if !strings.ContainsAny(text, "/.") || strings.ContainsAny(text, "\x00\n") {
			continue
		}
		if found, err := a.ground.locateAll(at, filepath.FromSlash(text)); err == nil {
			list = append(list, found...)
		}
	}
	return list
}

// allowed is by a rule. Even so, where one is asked by default, one is asked
// about files with secrets, unless the rule names them.
func (p *Policy) allowed(a act, d deed, r rule) verdict {
	v := verdict{Allow, r.String(), r.String() + " allows it"}
	if d.kind != runs || p.otherwise == Allow {
		return v
	}
	var named []place
	for _, t := range d.touches {
		if t.kind == reads {
			named = append(named, t.place)
		}
	}
	if !d.safe {
		named = a.places(d)
	}
	for _, place := range named {
		if place.secret() && !strings.Contains(r.Pattern, filepath.Base(place.named)) {
			return p.undecided("it names " + place.String() + ", which by its name holds secrets")
		}
	}
	return v
}

// undecided is what no rule allows.
func (p *Policy) undecided(why string) verdict {
	if p.otherwise == Allow {
		return verdict{Allow, byDefault, "the default is to allow"}
	}
	return verdict{p.otherwise, byDefault, why}
}

// byDefault decides where no rule does.
func (p *Policy) byDefault(a act, d deed) verdict {
	switch {
	case p.otherwise == Allow && d.kind == hidden:
		return p.unseen(a, d)
	case p.otherwise == Deny && !a.ReadOnly:
		if d.starts { // what it starts is judged
			return verdict{Allow, byDefault, "it only starts another command"}
		}
		return verdict{Deny, byDefault, "only tools that change nothing may run"}
	case d.starts:
		return verdict{Allow, byDefault, "it only starts another command"}
	case p.otherwise != Allow && !d.safe:
		return p.undecided(d.why)
	}
	best := verdict{Allow, byDefault, "it is harmless"}
	if p.otherwise == Allow {
		best.why = "the default is to allow"
	}
	for _, t := range d.touches {
		if v := p.verdict(a, t); v.weight() > best.weight() {
			best = v
		}
	}
	return best
}

// unseen is what cannot be judged where the default is to allow: a rule that
// forbids commands may be about it.
func (p *Policy) unseen(a act, d deed) verdict {
	for _, r := range p.rules {
		if r.Decision != Allow && (r.Tool == "shell" || r.Tool == "*" && r.Pattern == "") && (a.Tool == "shell" || a.Tool == "job") {
			return verdict{Ask, r.String(), "it cannot be seen whether " + r.String() + " is about it, since " + d.why}
		}
	}
	return verdict{Allow, byDefault, "the default is to allow"}
}

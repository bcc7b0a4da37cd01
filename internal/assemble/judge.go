package assemble

import (
	"fmt"
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/tool/shell"
)

// rules are those that are configured. Imported ones that cannot be used are left out,
// with a note.
func (o Options) rules() (rules []config.Rule, notes []string) {
	for _, r := range o.Settings.Rules {
		if r.Imported {
			if err := policy.Check(r, o.Dir, o.Getenv("HOME")); err != nil {
				notes = append(notes, fmt.Sprintf("%s: the rule %q is not used: %v", r.Origin, r.String(), err))
				continue
			}
		}
		rules = append(rules, r)
	}
	return rules, notes
}

// judge returns what makes the judge of each session. It is nil where
// everything is allowed without rules. A rule that cannot be used is an error
// at once, not when a session begins.
func (o Options) judge(permission event.Permission, b *bench) (func() (settle.Judge, error), error) {
	box, f, known, release := b.sandbox, b.far, b.skills, b.release
	mode := func() Mode { return Mode{Permission: permission} }
	rules, _ := o.rules()
	if o.Policy != nil {
		mode = func() Mode { return Tighten(o.Ceiling, o.Policy.Mode()) }
	} else if permission == event.Allow && len(rules) == 0 && release != event.Ask && o.Reviewed == nil && !box.of(mode()).On() {
		return nil, nil
	}
	build := func() (settle.Judge, error) {
		c := policy.Config{
			Mode: mode, Rules: slices.Concat(known.rules(), rules), Release: release, Reviewed: o.Reviewed,
			Dir: o.Dir, Home: o.Getenv("HOME"), Environ: o.Environ, Opaque: !shell.Judgeable(),
			Confine: proc.Confines() == nil, Sandbox: box.of, StartSandbox: b.here.of, Exposes: b.exposes(mode),
			ReadOnlyGit: box.Git != config.GitWrite && box.viewless == nil,
		}
		if f != nil { // nothing there can be looked at from here
			c.Dir, c.Home, c.Environ, c.Opaque, c.Confine, c.Exposes = f.machine.Dir, f.machine.Home, nil, true, false, nil
			c.Remote = true
		}
		p, err := policy.New(c)
		if err != nil {
			return nil, &config.Error{Where: "rules", Message: err.Error()}
		}
		if o.Policy != nil && !o.below {
			o.Policy.bind(p)
		}
		return p, nil
	}
	_, err := build()
	return build, err
}

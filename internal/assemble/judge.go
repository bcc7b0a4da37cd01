package assemble

import (
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/tool/shell"
)

// judge returns what makes the judge of each session. It is nil where
// everything is allowed without rules. A rule that cannot be used is an error
// at once, not when a session begins.
func (o Options) judge(permission, release event.Permission, box sandboxing, f *far, known *skillSet) (func() (settle.Judge, error), error) {
	mode := func() Mode { return Mode{Permission: permission} }
	if o.Policy != nil {
		mode = func() Mode { return Tighten(o.Ceiling, o.Policy.Mode()) }
	} else if permission == event.Allow && len(o.Settings.Rules) == 0 && release != event.Ask && o.Reviewed == nil && !box.of(mode()).On() {
		return nil, nil
	}
	build := func() (settle.Judge, error) {
		c := policy.Config{
			Mode: mode, Rules: slices.Concat(known.rules(), o.Settings.Rules), Release: release, Reviewed: o.Reviewed,
			Dir: o.Dir, Home: o.Getenv("HOME"), Environ: o.Environ, Opaque: !shell.Judgeable(),
			Confine: proc.Confines() == nil, Sandbox: box.of,
		}
		if f != nil { // nothing there can be looked at from here
			c.Dir, c.Home, c.Environ, c.Opaque, c.Confine = f.machine.Dir, f.machine.Home, nil, true, false
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

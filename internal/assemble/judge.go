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

// rules returns the configured rules. It omits unusable imported rules, with a note.
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

// judge returns the function that builds the judge of each session; nil if everything is
// allowed without rules. An unusable rule is an error here, before any session begins.
func (o *Options) judge(permission event.Permission, c *confinement) (func() (settle.Judge, error), error) {
	s, release := c.sandbox, o.release()
	mode := func() Mode { return Mode{Permission: permission} }
	rules, _ := o.rules()
	if o.Policy != nil {
		mode = func() Mode { return Tighten(o.Ceiling, o.Policy.Mode()) }
	} else if permission == event.Allow && len(rules) == 0 && release != event.Ask && o.Reviewed == nil &&
		!s.of(mode()).On() {
		return nil, nil
	}
	build := func() (settle.Judge, error) {
		p := policy.Config{
			Mode: mode, Release: release, Reviewed: o.Reviewed,
			Rules: slices.Concat(readRules("skill", c.skills.folders()), readRules("plugin", c.plugins), rules),
			Dir:   o.Dir, Home: o.Getenv("HOME"), Environ: o.Environ, Opaque: !shell.Judgeable(),
			Confine: proc.Confines() == nil, Sandbox: s.of, StartSandbox: c.servers.of, Exposes: c.exposes(mode),
			ReadOnlyGit: s.Git != config.GitWrite && s.viewless == nil, GitRisk: c.guards.risk, Protected: c.obeys(s),
			Hidden: c.files.Secret, Writes: s.writes(mode),
		}
		if r := c.remote; r != nil { // this machine cannot read the files there
			p.Dir, p.Home, p.Environ, p.Opaque, p.Confine, p.Exposes, p.GitRisk = r.machine.Dir, r.machine.Home, nil,
				true, false, nil, nil
			p.Protected, p.Hidden, p.Writes, p.Remote = nil, nil, nil, true
		}
		judge, err := policy.New(p)
		if err != nil {
			return nil, &config.Error{Where: "rules", Message: err.Error()}
		}
		if o.Policy != nil && !o.below {
			o.Policy.bind(judge)
		}
		return judge, nil
	}
	_, err := build()
	return build, err
}

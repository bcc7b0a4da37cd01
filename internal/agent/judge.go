package agent

import (
	"encoding/json"
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/tool/shell"
)

// judge returns what makes the judge of each session: the rules that are in
// force over the policy. It is nil where everything is allowed without rules.
// A rule that cannot be used is an error at once, not when a session begins.
func (o Options) judge(policy settle.Permission) (func() (settle.Judge, error), error) {
	if o.Policy != nil {
		_, err := o.build(o.Policy.Mode())
		return func() (settle.Judge, error) {
			return &changing{policy: o.Policy, build: o.build, judges: map[string]settle.Judge{}}, nil
		}, err
	}
	if policy == settle.Allow && len(o.Settings.Rules) == 0 {
		return nil, nil
	}
	build := func() (settle.Judge, error) { return o.build(Mode{Permission: policy}) }
	_, err := build()
	return build, err
}

// over has wrap go over each judge that build makes; nil is the policy's.
func over(build func() (settle.Judge, error), policy settle.Permission, wrap func(settle.Judge) settle.Judge) func() (settle.Judge, error) {
	return func() (settle.Judge, error) {
		if build == nil {
			return wrap(policy.Judge()), nil
		}
		j, err := build()
		if err != nil {
			return nil, err
		}
		return wrap(j), nil
	}
}

// build makes the judge of a mode.
func (o Options) build(m Mode) (settle.Judge, error) {
	m = Tighten(o.Ceiling, m)
	p, err := policy.New(policy.Config{
		Default: policy.Decision(m.Permission), Rules: rules(slices.Concat(m.Rules, o.Settings.Rules)), Dir: o.Dir, Home: o.Getenv("HOME"),
		Environ: o.Environ, Opaque: !shell.Judgeable(),
	})
	if err != nil {
		return nil, &config.Error{Where: "rules", Message: err.Error()}
	}
	return judge{p, o.Dir}, nil
}

func rules(configured []config.Rule) []policy.Rule {
	var out []policy.Rule
	for _, r := range configured {
		out = append(out, policy.Rule{Tool: r.Tool, Pattern: r.Pattern, Decision: policy.Decision(r.Decision), Tightens: r.Tightens})
	}
	return out
}

// judge is a policy as sessions see it.
type judge struct {
	policy *policy.Policy
	dir    string
}

// Judge implements [settle.Judge].
func (j judge) Judge(a settle.Approval) settle.Judgement {
	got := j.policy.Judge(j.request(a))
	return settle.Judgement{Decision: settle.Decision(got.Decision), Rule: got.Rule, Why: got.Why, Detail: got.Detail, Covers: got.Covers}
}

// Remember implements [settle.Judge].
func (j judge) Remember(a settle.Approval) { j.policy.Remember(j.request(a)) }

func (j judge) request(a settle.Approval) policy.Request {
	return policy.Request{Tool: a.Tool.Name, ReadOnly: a.Tool.ReadOnly, Arguments: json.RawMessage(a.Arguments), Dir: j.dir}
}

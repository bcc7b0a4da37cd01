package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
)

// No text causes a panic, and no text in which bash would find the denied command is
// allowed.
func FuzzCommand(f *testing.F) {
	for _, command := range append(lines(f, "harmful.txt"), lines(f, "everyday.txt")...) {
		f.Add(strings.ReplaceAll(command, "rm x", "zap x"))
	}
	dir := newDir(f)
	rules := []config.Rule{rule("shell", "zap", event.Deny), rule("shell", "", event.Allow)}
	policies := []*policy.Policy{
		newPolicy(f, dir, policy.Config{Mode: mode(event.Allow), Rules: rules[:1]}),
		newPolicy(f, dir, policy.Config{Rules: rules}),
		newPolicy(f, dir, policy.Config{}),
	}
	f.Fuzz(func(t *testing.T, command string) {
		names := commandNames(command)
		for i, p := range policies {
			j := p.Judge(shell(t, command))
			if j.Detail != nil && !json.Valid(j.Detail) {
				t.Errorf("%q: detail %q", command, j.Detail)
			}
			if names["zap"] && j.Decision == event.Allow {
				t.Errorf("policy %d allows %q (%s: %s)", i, command, j.Rule, j.Why)
			}
		}
		if p := policies[0]; p.Judge(shell(t, command)).Decision == event.Deny {
			if p.Remember(shell(t, command)); p.Judge(shell(t, command)).Decision != event.Deny {
				t.Errorf("%q is denied, and was allowed by an approval", command)
			}
		}
	})
}

// commandNames returns the names in command position, by the parser alone.
func commandNames(command string) map[string]bool {
	names := map[string]bool{}
	file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil {
		return names
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			names[call.Args[0].Lit()] = true
		}
		return true
	})
	return names
}

func FuzzArguments(f *testing.F) {
	for _, args := range []string{`{"path":"a/../../x"}`, `{"input":"*** Begin Patch\n*** Update File: .env\n*** Move to: ../x\n*** End Patch"}`, `{"pattern":"{a,../b}/**","glob":"[","path":"x"}`, `[`, `{"action":"write","input":"x"}`} {
		f.Add("read", args)
		f.Add("apply_patch", args)
		f.Add("glob", args)
	}
	dir := newDir(f)
	p := newPolicy(
		f,
		dir,
		policy.Config{
			Rules: []config.Rule{
				rule("edit", "a[bc]/**", event.Allow),
				rule("*", "{x,y}/*.go", event.Deny),
				rule("job", "w*", event.Ask),
			},
		},
	)
	f.Fuzz(func(_ *testing.T, tool, args string) {
		r := settle.Approval{Tool: spec(tool), Arguments: args}
		p.Judge(r)
		p.Remember(r)
	})
}

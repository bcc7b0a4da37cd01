package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
)

// nesting puts a command into a place where a shell runs it.
func nesting() []func(t *rapid.T, inner string) string {
	quoted := func(format string) func(*rapid.T, string) string {
		return func(t *rapid.T, inner string) string {
			q, err := syntax.Quote(inner, syntax.LangBash)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf(format, q)
		}
	}
	list := []func(t *rapid.T, inner string) string{
		quoted(
			"bash -c %s",
		), quoted("sh -ec %s"), quoted("eval %s"), quoted("trap %s EXIT"), quoted("env bash -c %s"), quoted("find . -exec sh -c %s \\;"),
		quoted(
			"ls | xargs sh -c %s",
		), quoted("timeout 5 bash -lc %s"), quoted("sudo sh -c %s"), quoted("command eval %s"),
	}
	for _, format := range []string{
		"%s", "ls && %s", "ls || %s", "ls; %s", "%s | cat", "cat main.go | %s", "( %s\n)", "{ %s\n}", "! { %s\n}", "if %s\nthen ls; fi", "if ls; then %s\nfi", "while %s\ndo ls; done",
		"for f in a; do %s\ndone", "case x in x) %s\n;; esac", "f() { %s\n}; f", "echo $( %s\n)", "echo \"$( %s\n)\"", "cat <(%s\n)", "a=$( %s\n)", "%s &", "%s\n",
		"time %s", "echo ${a:-$( %s\n)}", "echo $((1 + $( %s\n)))", "[[ -n $( %s\n) ]]", "cd sub && %s", "ls > $( %s\n)", "export LANG=$( %s\n)", "ls # x\n%s",
	} {
		list = append(list, func(_ *rapid.T, inner string) string { return fmt.Sprintf(format, inner) })
	}
	return list
}

func leaf() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		"zap", "zap -x", "/usr/bin/zap x", "z''ap", "z\\ap x", "'zap' x", "\"zap\"", "A=1 zap", "timeout 5 zap", "sudo -u x zap y", "env A=1 zap", "nohup zap",
		"xargs zap", "find . -exec zap {} +", "nice -n 3 zap", "exec zap", "command zap", "{zap,x}", "busybox zap", "ZAP x", "xargs -I% zap %", "stdbuf -oL zap",
	})
}

// A denied command never runs, at any depth of nesting.
func TestDeniedIsNeverAllowed(t *testing.T) {
	dir := newDir(t)
	deny := []config.Rule{rule("shell", "zap", event.Deny), rule("*", "", event.Allow)}
	policies := []*policy.Policy{
		newPolicy(
			t,
			dir,
			policy.Config{Mode: mode(event.Allow), Rules: deny[:1]},
		), newPolicy(t, dir, policy.Config{Mode: mode(event.Ask), Rules: deny}),
		newPolicy(t, dir, policy.Config{Mode: mode(event.Deny), Rules: deny}),
	}
	for _, p := range policies {
		p.Remember(shell(t, "zap"))
	}
	rapid.Check(t, func(rt *rapid.T) {
		command := leaf().Draw(rt, "leaf")
		for range rapid.IntRange(0, 5).Draw(rt, "depth") {
			command = rapid.SampledFrom(nesting()).Draw(rt, "nesting")(rt, command)
		}
		for i, p := range policies {
			if j := p.Judge(shell(t, command)); j.Decision == event.Allow {
				rt.Fatalf("policy %d allows %q (%s: %s)", i, command, j.Rule, j.Why)
			}
		}
	})
}

// A script gets the decision of its strictest command, at any position.
func TestStrictestCounts(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(
		t,
		dir,
		policy.Config{Rules: []config.Rule{rule("shell", "make *", event.Allow), rule("shell", "zap", event.Deny)}},
	)
	command := rapid.SampledFrom(
		[]string{
			"ls",
			"make all",
			"rm x",
			"zap",
			"cat main.go",
			"cat .env",
			"$X",
			"echo x > y",
			"git status",
			"git push",
		},
	)
	rapid.Check(t, func(rt *rapid.T) {
		order := map[event.Permission]int{event.Allow: 0, event.Ask: 1, event.Deny: 2}
		var strictest int
		commands := rapid.SliceOfN(command, 1, 5).Draw(rt, "commands")
		for _, c := range commands {
			strictest = max(strictest, order[p.Judge(shell(t, c)).Decision])
		}
		if slices.Contains(commands, "$X") {
			strictest = order[event.Ask] // a script that cannot be analysed can do anything
		}
		joined := strings.Join(
			commands,
			rapid.SampledFrom([]string{" && ", "; ", " | ", "\n", " || "}).Draw(rt, "operator"),
		)
		if j := p.Judge(shell(t, joined)); order[j.Decision] != strictest {
			rt.Fatalf("%q: %s (%s: %s)", joined, j.Decision, j.Rule, j.Why)
		}
	})
}

// A rule that denies never loosens a decision, and a rule of a repository also never does.
func TestRulesTighten(t *testing.T) {
	dir := newDir(t)
	rules := rapid.Custom(func(t *rapid.T) config.Rule {
		return config.Rule{
			Tool: rapid.SampledFrom([]string{"shell", "*", "read", "edit"}).Draw(t, "tool"),
			Pattern: rapid.SampledFrom([]string{"", "cat *", "git", "make", "*.go", "sub/**", "rm -rf *"}).
				Draw(t, "pattern"),
			Decision: rapid.SampledFrom([]event.Permission{event.Allow, event.Ask, event.Deny}).Draw(t, "decision"),
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOfN(rules, 0, 4).Draw(rt, "rules")
		more := rules.Draw(rt, "more")
		more.Decision = event.Deny
		if rapid.Bool().Draw(rt, "somebody else's") {
			more.Decision, more.Tightens = event.Ask, true
		}
		otherwise := rapid.SampledFrom([]event.Permission{event.Allow, event.Ask, event.Deny}).Draw(rt, "default")
		before, after := newPolicy(
			t,
			dir,
			policy.Config{Mode: mode(otherwise), Rules: list},
		), newPolicy(
			t,
			dir,
			policy.Config{Mode: mode(otherwise), Rules: append(list, more)},
		)
		command := rapid.SampledFrom([]string{"cat main.go", "git push", "make", "rm -rf sub", "rm -r -f sub", "$X", "cat sub/deep/x.go > y.go", "ls | sh"}).
			Draw(rt, "command")
		order := map[event.Permission]int{event.Allow: 0, event.Ask: 1, event.Deny: 2}
		was, is := before.Judge(shell(t, command)), after.Judge(shell(t, command))
		if order[is.Decision] < order[was.Decision] {
			rt.Fatalf("%v and %v: %q was %s and is %s", list, more, command, was.Decision, is.Decision)
		}
	})
}

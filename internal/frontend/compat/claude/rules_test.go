package claude

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
)

func TestSpecs(t *testing.T) {
	got := specs("Read,Bash(git log:*, x),Edit(src/**) Glob", "", " Bash(echo (a b)) ")
	want := []string{"Read", "Bash(git log:*, x)", "Edit(src/**)", "Glob", "Bash(echo (a b))"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRules(t *testing.T) {
	got := rulesFor(
		"allow",
		[]string{
			"Read",
			"Bash(git log:*)",
			"Bash(npm run test)",
			"Edit(//etc/x)",
			"Write(/src/**)",
			"Read(~/notes/**)",
			"Bash(*)",
			"WebFetch(domain:x)",
			"mcp__a__b",
			"mcp__c",
			"mcp__d__*",
			"mcp__*",
		},
	)
	rule := func(tool, pattern string) config.Rule {
		return config.Rule{Tool: tool, Pattern: pattern, Decision: "allow"}
	}
	want := ruleSet{
		rules: []config.Rule{
			rule(
				"read", "",
			), rule("shell", "git log *"), rule("shell", "npm run test"), rule("edit", "/etc/x"), rule("apply_patch", "/etc/x"),
			rule(
				"write", "src/**",
			), rule("apply_patch", "src/**"), rule("read", "~/notes/**"), rule("shell", ""), rule("web_fetch", "x"), rule("a__b", ""), rule("c__*", ""), rule("d__*", ""),
		},
		allTools: []string{"read", "shell", "job"},
		unknown:  []string{"mcp__*"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(ruleSet{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestModelNames(t *testing.T) {
	providers := map[string]config.Provider{"openai": {}, "anthropic": {}, "gw": {}}
	for name, want := range map[string]string{
		"": "", "default": "", "sonnet": "anthropic/claude-sonnet-5-5", "claude-opus-4-5": "anthropic/claude-opus-4-5", "sonnet[1m]": "anthropic/claude-sonnet-5-5",
		"openai/gpt-6": "openai/gpt-6", "gw/a/b": "gw/a/b", "other/model": "anthropic/other/model",
	} {
		if got := modelName(name, providers); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// The policy of a session follows the client's modes and rules.
func TestPolicy(t *testing.T) {
	p := policy{flagRules: rulesFor("allow", []string{"Bash(go test:*)"}).rules, dirs: []string{"/more"}}
	if err := p.set("default"); err != nil {
		t.Fatal(err)
	}
	first := p.inForce.Mode()
	if first.Permission != settle.Ask || len(first.Rules) != 2 {
		t.Errorf("default: %+v", first)
	}
	p.add(rulesFor("deny", []string{"Read(secret)"}).rules...)
	if err := p.set("acceptEdits"); err != nil {
		t.Fatal(err)
	}
	m := p.inForce.Mode()
	if m.Name == first.Name || !strings.HasPrefix(m.Name, "acceptEdits ") || len(m.Rules) != 5 {
		t.Errorf("acceptEdits: %+v", m)
	}
	p.protected = func(string) string { return "contains your home directory" }
	p.add()
	if m := p.inForce.Mode(); len(m.Rules) != 4 {
		t.Errorf("edits of a protected directory: %+v", m)
	}
	if err := p.set("auto"); err == nil || p.mode != "acceptEdits" {
		t.Errorf("auto: %v, in force is %s", err, p.mode)
	}
}

// An accepted plan changes the mode when its call runs, with the rules that the client has then.
func TestModeOfPlansWork(t *testing.T) {
	for ceiling, want := range map[settle.Permission]settle.Permission{"": "ask", "ask": "ask", "deny": "deny"} {
		p := policy{ceiling: ceiling}
		if err := p.set("bypassPermissions"); (err == nil) != (ceiling == "") {
			t.Fatal(err)
		}
		if err := p.set("plan"); err != nil {
			t.Fatal(err)
		}
		p.begin("default")
		p.add(rulesFor("deny", []string{"Read(secret)"}).rules...)
		if m := p.inForce.Mode(); !m.Plan || m.Permission != want {
			t.Errorf("before the call: %+v", m)
		}
		if _, err := p.inForce.Begin("", ceiling); err != nil {
			t.Fatal(err)
		}
		if m := p.inForce.Mode(); m.Plan || m.Permission != want || p.inForceMode() != "default" || len(m.Rules) != 1 {
			t.Errorf("with the ceiling %q, the work begins in %+v", ceiling, m)
		}
		if p.add(); p.inForceMode() != "default" {
			t.Errorf("a rule changed the mode to %s", p.inForceMode())
		}
	}
}

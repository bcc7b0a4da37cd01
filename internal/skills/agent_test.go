package skills_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/skills"
)

// Definitions in three formats are read, the nearest definition of a name counts, and unusable
// definitions are reported.
func TestFindAgents(t *testing.T) {
	head := func(keys string) string { return "---\n" + keys + "\n---\nDo it.\n" }
	const (
		of  = "description: Of a"
		two = "name: two\ndescription: Two\nmodel: inherit\nmaxTurns: 7\nisolation: worktree\n" +
			"permissionMode: bypassPermissions\nhooks: x"
		three = "description: Three\nname: other\npermission: {bash: deny, edit: ask}\ntools: {write: false}"
		bad   = "description: x\nmax_steps: -1\npermission: perhaps\ntimeout: soon"
		few   = "description: Few\ntools: {\"*\": false, read: true, bash: false}"
		rules = "description: Rules\npermission: {\"*\": deny, read: allow, webfetch: ask}"
		empty = "description: None\ntools: {\"*\": false, read: true}\npermission: {\"*\": deny, grep: allow}"
	)
	root := tree(t, map[string]string{
		"repo/.git/HEAD": "",
		"repo/a/.settle/agents/one.md": head(
			of + "\npermission: deny\ntools: read, grep\nmax_cost: 0.5\ntimeout: 90s",
		),
		"repo/.claude/agents/one.md":             head("name: one\ndescription: Of the root"),
		"repo/.claude/agents/deep/two.md":        head(two),
		"repo/.claude/agents/out.md":             "-> ../../../secret.md",
		"repo/.claude/agents/mode.md":            head("description: x\npermissionMode: whatever"),
		"repo/.claude/agents/none.md":            head("description: No tools\ntools:"),
		"repo/.opencode/agent/sub/three.md":      head(three),
		"repo/.opencode/agents/list.md":          head("description: A list\ntools: [read]\ntemperature: 0.1"),
		"repo/.opencode/agents/few.md":           head(few),
		"repo/.opencode/agents/rules.md":         head(rules),
		"repo/.opencode/agents/without.md":       head(empty),
		"repo/.settle/agents/half.md":            head("description: x\nmax_steps: 0.5"),
		"repo/.opencode/agents/main.md":          head("description: x\nmode: primary"),
		"repo/.settle/agents/bad.md":             head(bad),
		"repo/.settle/agents/Name.md":            head("description: x"),
		"repo/.settle/agents/off.md":             head("description: x\ndisabled: true"),
		"home/.claude/agents/one.md":             head("name: one\ndescription: The user's"),
		"home/.config/opencode/agent/mine.md":    head("description: Mine\nsteps: 3"),
		"home/.config/settle/agents/headless.md": "Do it.",
		"secret.md":                              head("name: secret\ndescription: private"),
	})
	f := skills.FindAgents(sources(root))
	var got []string
	for _, a := range f.Agents {
		got = append(got, fmt.Sprintf(
			"%s %s %q %v-%v %q %+v %t %t %q", a.Name, a.Format, a.About, a.Tools.Only, a.Tools.Without,
			a.Permission, a.Budget, a.Worktree, a.Project, a.Warnings,
		))
	}
	want := []string{
		`few opencode "Few" [read]-[bash] "" {Steps:0 Tokens:0 Cost:0 Time:0s} false true []`,
		`list opencode "A list" [read]-[] "" {Steps:0 Tokens:0 Cost:0 Time:0s} false true ` +
			`["settle does not use its temperature"]`,
		`mine opencode "Mine" []-[] "" {Steps:3 Tokens:0 Cost:0 Time:0s} false false []`,
		`none claude "No tools" []-[] "" {Steps:0 Tokens:0 Cost:0 Time:0s} false true []`,
		`one settle "Of a" [read grep]-[] "deny" {Steps:0 Tokens:0 Cost:0.5 Time:1m30s} false true []`,
		`rules opencode "Rules" [read webfetch]-[] "ask" {Steps:0 Tokens:0 Cost:0 Time:0s} false true []`,
		`sub/three opencode "Three" []-[write bash] "ask" {Steps:0 Tokens:0 Cost:0 Time:0s} false true []`,
		`two claude "Two" []-[] "" {Steps:7 Tokens:0 Cost:0 Time:0s} true true ["settle does not use its hooks"]`,
		`without opencode "None" []-[] "" {Steps:0 Tokens:0 Cost:0 Time:0s} false true ["it takes every tool away"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var problems []string
	for _, p := range append(f.Broken, f.Hidden...) {
		problems = append(problems, strings.ReplaceAll(p.Error(), root+"/", ""))
	}
	all := strings.Join(problems, "\n")
	for _, want := range []string{
		"out.md: it is a link out of the project", `mode.md: its permissionMode "whatever" is unknown`,
		`bad.md: its permission "perhaps" is not one of allow, ask and deny`, `its timeout "soon" is no duration`,
		`its max_steps "-1" is no positive number`,
		`its max_steps "0.5" is no whole number`, `Name.md: its name "Name" is not of`, "off.md: it is disabled",
		"main.md: it is for the main session", "headless.md: it does not begin with a head",
		"repo/.claude/agents/one.md: it is hidden by the agent of the same name in repo/a/.settle/agents/one.md",
		"home/.claude/agents/one.md: it is hidden by",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	if strings.Contains(all, "private") {
		t.Error(all)
	}
}

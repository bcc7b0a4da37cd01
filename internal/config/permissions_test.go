package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/config"
)

// The forms of https://code.claude.com/docs/en/permissions.
func TestRulesOfClaudeCode(t *testing.T) {
	w := newWorld(t)
	w.user("[[rules]]\ntool = 'shell'\npattern = 'git push'\ndecision = 'ask'\n")
	w.write("home/.claude/settings.json", `{"permissions": {
		"deny": ["Bash(run_in_background:true)", "Read(private/)", "Read(./.env)", "WebFetch(domain:*.evil.*)", "Bash(curl:*)", "Task(Explore)", "Nonsense"],
		"allow": ["WebFetch(domain:example.*)", "WebFetch(domain:*)", "mcp__github__merge(repo:x)", "Bash(npm run test:*)", "Edit(//tmp/x/**)", "Read(~/notes/**)", "WebFetch(domain:example.com)", "mcp__memory", "mcp__github__get_issue"],
		"ask": ["WebSearch"], "defaultMode": "plan"}}`)
	w.write(
		"repo/.claude/settings.json",
		`{"permissions": {"allow": ["Bash", "Edit"], "deny": ["Edit(/gen/**)", "Bash(git push *)"], "ask": ["Write(src/**)"]}}`,
	)
	w.write("repo/.claude/settings.local.json", `{"permissions": {"deny": ["Bash(*)"]}}`)
	w.write("repo/sub/.claude/settings.json", `{"permissions": []}`)
	r := w.load()
	var got []string
	for _, rule := range r.Rules {
		if rule.Imported != (rule.Decision != "ask" || rule.Pattern != "git push") || rule.Imported &&
			rule.Tightens != strings.Contains(rule.Origin.Where, "/repo/") {
			t.Errorf("%+v", rule)
		}
		got = append(got, fmt.Sprintf("%s (%s)", w.plain(rule.String()), w.plain(rule.Origin.Where)))
	}
	user, project := "(/home/.claude/settings.json)", "(/repo/.claude/settings.json)"
	want := []string{
		"allow web_fetch * " + user, "allow shell npm run test * " + user, "allow edit /tmp/x/** " + user,
		"allow read ~/notes/** " + user, "allow web_fetch example.com " + user,
		"allow memory__* " + user, "allow github__get_issue " + user, "ask web_search " + user,
		"deny read **/private/ " + user, "deny read .env " + user, "deny web_fetch *.evil.* " + user,
		"deny shell curl * " + user,
		"ask shell git push (/home/.config/settle/config.toml:1)",
		"ask edit src/** " + project, "deny edit /repo/gen/** " + project, "deny shell git push * " + project,
		"deny shell (/repo/.claude/settings.local.json)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	notes := w.plain(strings.Join(r.Notes, "\n"))
	for _, want := range []string{
		"/home/.claude/settings.json: settle cannot use these of its permissions: allow WebFetch(domain:example.*), allow mcp__github__merge(repo:x), deny Bash(run_in_background:true), deny Task(Explore), deny Nonsense",
		"/repo/.claude/settings.json: its 2 rules that allow are not used: a project may only tighten",
		"/repo/sub/.claude/settings.json: its permissions are not used",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in %s", want, notes)
		}
	}
	w.in.ProjectConfig = config.IgnoreProject
	if r = w.load(); len(r.Rules) != 13 {
		t.Errorf("without the project: %d rules", len(r.Rules))
	}
	w.user("rules_import = []\n")
	if r = w.load(); len(r.Rules) != 0 {
		t.Errorf("turned off: %v", r.Rules)
	}
}

// The name of a directory is not a pattern.
func TestClaudePattern(t *testing.T) {
	for content, want := range map[string]string{
		"/gen/**": "/p/app[[]id]/gen/**", "//etc/x": "/etc/x", "~/x": "~/x", "./x/y": "x/y", "x": "x",
		"x/": "**/x/", "x/y/": "x/y/", "/x/": "/p/app[[]id]/x/", "~/": "~/", ".git/": "**/.git/", "./": "", "": "",
	} {
		if got := config.ClaudePattern("read", content, "/p/app[id]"); got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
}

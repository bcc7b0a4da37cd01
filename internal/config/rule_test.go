package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/config"
)

func TestRules(t *testing.T) {
	w := newWorld(t)
	w.user(
		"[[rules]]\ntool = 'shell'\npattern = 'git *'\ndecision = 'allow'\n\n[[rules]]\ntool = 'edit'\ndecision = 'ask'\n",
	)
	w.project(
		"# a project\n[[rules]]\ntool = 'shell'\npattern = 'make *'\ndecision = 'allow'\n[[rules]]\ntool = 'shell'\npattern = 'git push'\ndecision = 'deny'\n",
	)
	w.write("repo/sub/.settle/config.toml", "rules = [{tool = '*', pattern = '.env', decision = 'ask'}]")
	r := w.load()
	for i := range r.Rules {
		r.Rules[i].Origin.Where = w.plain(r.Rules[i].Origin.Where)
	}
	user, project := "/home/.config/settle/config.toml", "/repo/.settle/config.toml"
	want := []config.Rule{
		{
			Tool: "shell", Pattern: "git *", Decision: "allow",
			Origin: config.Origin{Kind: config.File, Where: user + ":1"},
		},
		{Tool: "edit", Decision: "ask", Origin: config.Origin{Kind: config.File, Where: user + ":6"}},
		{
			Tool: "shell", Pattern: "git push", Decision: "deny", Tightens: true,
			Origin: config.Origin{Kind: config.Project, Where: project + ":6"},
		},
		{
			Tool: "*", Pattern: ".env", Decision: "ask", Tightens: true,
			Origin: config.Origin{Kind: config.Project, Where: "/repo/sub/.settle/config.toml:1"},
		},
	}
	if diff := cmp.Diff(want, r.Rules); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	notes := w.plain(strings.Join(r.Notes, "\n"))
	if want := project + `:2: the rule "allow shell make *" was ignored: a project may only tighten; to set it for yourself, put it in ` + user; notes != want {
		t.Errorf("notes %q, want %q", notes, want)
	}
	var shown []string
	for _, line := range r.Lines() {
		if strings.HasPrefix(line.Key, "rules.") {
			shown = append(shown, line.Key+" "+line.Value)
		}
	}
	if diff := cmp.Diff([]string{
		"rules.1 allow shell git *", "rules.2 ask edit", "rules.3 deny shell git push",
		"rules.4 ask * .env",
	}, shown); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

func TestMistakesInRules(t *testing.T) {
	for _, tt := range []struct{ file, want string }{
		{"rules = 3", "config.toml:1: rules: must be tables, each under [[rules]], not 3"},
		{"rules = [3]", "config.toml:1: rules: must be tables, each under [[rules]], not 3"},
		{"[rules]\ntool = 'x'", "must be tables, each under [[rules]], not a table"},
		{"[[rules]]\ntool = 'shell'", "config.toml:1: rules.1.decision: is missing"},
		{"[[rules]]\ndecision = 'ask'", "config.toml:1: rules.1.tool: is missing"},
		{
			"[[rules]]\ntool = 'a'\ndecision = 'ask'\n[[rules]]\ntool = 'b'\ndecision = 'alow'",
			`config.toml:6: rules.2.decision: "alow" is not one of allow, ask, deny; did you mean "allow"?`,
		},
		{
			"[[rules]]\ntool = 'a'\ndecision = 'ask'\npatern = 'x'",
			`config.toml:4: rules.1.patern: unknown setting; did you mean "pattern"?`,
		},
		{"[[rules]]\ntool = 3\ndecision = 'ask'", "config.toml:2: rules.1.tool: must be a string, not 3"},
	} {
		w := newWorld(t)
		w.user(tt.file)
		if _, err := config.Load(w.in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.file, err, tt.want)
		}
		w = newWorld(t)
		w.project(tt.file)
		if _, err := config.Load(w.in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("a project's %q: %v, want %s", tt.file, err, tt.want)
		}
	}
}

package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/config"
)

// A repository can only tighten. The cases cover all settings: a
// project's value, and whether it is used.
func TestProjectMayOnlyTighten(t *testing.T) {
	tests := []struct {
		name, user, project string
		key, want           string // in force afterwards
		note                string // empty if the project's value is used
	}{
		{
			"permission allow", "", "permission='allow'", "permission", "run: allow; elsewhere: ask",
			"permission was ignored: allow is looser than the default,",
		},
		{"permission ask", "", "permission='ask'", "permission", "ask", ""},
		{"permission deny", "permission='ask'", "permission='deny'", "permission", "deny", ""},
		{"permission of mode", "permission='accept-edits'", "permission='ask'", "permission", "ask", ""},
		{"permission deny of mode", "permission='plan'", "permission='deny'", "permission", "deny", ""},
		{
			"permission review of mode",
			"permission='accept-edits'", "permission='review'", "permission", "accept-edits",
			"permission was ignored: review is looser than accept-edits (",
		},
		{"permission ask of plan", "permission='plan'", "permission='ask'", "permission", "plan", ""},
		{
			"mode", "permission='allow'", "permission='accept-edits'", "permission", "allow",
			"permission was ignored: accept-edits is a mode, and a project may not set it",
		},
		{
			"mode plan", "", "permission='plan'", "permission", "run: allow; elsewhere: ask",
			"permission was ignored: plan is a mode, and a project may not set it",
		},
		{
			"permission looser", "permission='deny'", "permission='ask'", "permission", "deny",
			"ask is looser than deny (/home/.config/settle/config.toml:1)",
		},
		{"fewer steps", "", "max_steps=9", "max_steps", "9", ""},
		{"more steps", "max_steps=5", "max_steps=9", "max_steps", "5", "9 is looser than 5"},
		{"no bound on steps", "max_steps=5", "max_steps=0", "max_steps", "5", "0 is looser than 5"},
		{"repeats off", "", "max_repeats=0", "max_repeats", "10", "0 is looser than 10 (default)"},
		{"repeats", "", "max_repeats=3", "max_repeats", "3", ""},
		{"timeout", "", "timeout='5m'", "timeout", "5m", ""},
		{"longer timeout", "timeout='1m'", "timeout='5m'", "timeout", "1m", "5m is looser than 1m"},
		{"stall", "", "stall_timeout='20s'", "stall_timeout", "20s", ""},
		{"stall off", "", "stall_timeout=0", "stall_timeout", "3m", "0s is looser than 3m"},
		{"header", "", "header_timeout='20m'", "header_timeout", "10m", "20m is looser than 10m"},
		{"thinking", "", "thinking_timeout='1m'", "thinking_timeout", "1m", ""},
		{"retries", "", "retries=9", "retries", "by kind of fault", "9 is looser than"},
		{"fewer retries", "", "retries=0", "retries", "0", ""},
		{"retry for longer", "", "retry_for='1h'", "retry_for", "10m", "1h is looser than 10m"},
		{"retry not at all", "", "retry_for=0", "retry_for", "0s", ""},
		{"tools", "", "tools=['read']", "tools", "read", ""},
		{
			"more tools", "tools=['read','grep']", "tools=['read','shell']", "tools", "read",
			"only read of read,shell are allowed by",
		},
		{"servers", "", "[lsp]\nservers=['gopls']", "lsp.servers", "gopls", ""},
		{"no servers", "", "lsp.servers=[]", "lsp.servers", "", ""},
		{
			"more servers", "lsp.servers=['gopls']", "lsp.servers=['gopls','rust-analyzer']", "lsp.servers", "gopls",
			"only gopls of gopls,rust-analyzer are allowed by",
		},
		{
			"other servers", "lsp.servers=['gopls']", "lsp.servers=['rust-analyzer']", "lsp.servers", "",
			"none of rust-analyzer are allowed by",
		},
		{
			"release", "", "jobs.release='allow'", "jobs.release", "run: allow; elsewhere: ask",
			"allow is looser than the default",
		},
		{"no release", "", "[jobs]\nrelease='deny'", "jobs.release", "deny", ""},
		{"jobs at an interrupt", "", "jobs.on_interrupt='end'", "jobs.on_interrupt", "end", ""},
		{"jobs at exit", "", "jobs.on_exit='release'", "jobs.on_exit", "end", "release is looser than end"},
		{"pass_env", "", "pass_env=['OPENAI_API_KEY']", "pass_env", "none", "a project may not set it"},
		{"data_dir", "data_dir='/d'", "data_dir='x'", "data_dir", "/d", "a project may not set it"},
		{"log_level", "", "log_level='debug'", "log_level", "info", "a project may not set it"},
		{
			"provider", "", "[providers.openai]\nbase_url='https://evil.example.com'\nkey_command='steal'",
			"providers.openai.base_url", "https://api.openai.com/v1",
			"providers was ignored: a project may not set it",
		},
		{"headers", "", "providers.openai.headers={X='y'}", "providers.openai.headers", "", "a project may not set it"},
		{"models", "", "[models.'openai/x']\nwindow=1", "models.\"openai/x\"", "", "a project may not set it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.user(tt.user)
			w.project(tt.project)
			r := w.load()
			values := map[string]string{}
			for _, line := range r.Lines() {
				values[line.Key] = line.Value
			}
			if got := values[tt.key]; got != tt.want {
				t.Errorf("%s = %q, want %q", tt.key, got, tt.want)
			}
			notes := w.plain(strings.Join(r.Notes, "\n"))
			if tt.note == "" && notes != "" || !strings.Contains(notes, tt.note) {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
		})
	}
}

func TestProjectNoteSaysWhatToDo(t *testing.T) {
	w := newWorld(t)
	w.project("\n\nmax_repeats = 50")
	got := w.load().Notes
	want := []string{
		"/repo/.settle/config.toml:3: max_repeats was ignored: 50 is looser than 10 (default), and a project may only tighten; " +
			"to set it for yourself, put it in /home/.config/settle/config.toml or use --max-repeats",
	}
	for i := range got {
		got[i] = w.plain(got[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFlagsBeatTheProject(t *testing.T) {
	w := newWorld(t)
	w.project("permission = 'deny'")
	w.in.Flags["permission"] = "allow"
	if got := w.load().Permission; got != "allow" {
		t.Errorf("permission %q", got)
	}
}

func TestProjectMistakes(t *testing.T) {
	w := newWorld(t)
	w.project("permision = 'deny'")
	_, err := config.Load(w.in)
	if err == nil || !strings.Contains(err.Error(), `did you mean "permission"?`) ||
		!strings.Contains(err.Error(), "--no-project-config") {
		t.Errorf("error %v", err)
	}
	w.in.ProjectConfig = config.IgnoreProject
	if got := w.load().Files; len(got) != 0 {
		t.Errorf("files %q were read", got)
	}
}

// Outside a repository only the working directory is read: a parent, such as /tmp, can
// belong to another user.
func TestNoRepository(t *testing.T) {
	w := newWorld(t)
	w.in.Dir = t.TempDir()
	w.project("max_steps = 1")
	if got := w.load().MaxSteps; got != 0 {
		t.Errorf("max_steps %d from another directory", got)
	}
}

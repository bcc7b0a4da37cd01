//go:build clients && linux

package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest"
)

// hangingServer lists a prompt and never gives it. It makes the files asked and
// cancelled beside itself.
const hangingServer = `
const fs = require('fs'), path = require('path');
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const m = JSON.parse(line);
  const say = (more) => console.log(JSON.stringify({ jsonrpc: '2.0', id: m.id, ...more }));
  const note = (name) => fs.writeFileSync(path.join(__dirname, name), line);
  switch (m.method) {
    case 'initialize': return say({ result: { protocolVersion: '2025-11-25', capabilities: { prompts: {} }, serverInfo: { name: 'hangs', version: '1' } } });
    case 'prompts/list': return say({ result: { prompts: [{ name: 'ask', description: 'Never answers' }] } });
    case 'prompts/get': return note('asked');
    case 'notifications/cancelled': return note('cancelled');
    default: if (m.id !== undefined) say({ error: { code: -32601, message: 'Method not found' } });
  }
});
`

// promptServers is a home with the server that everybody has and one that hangs, which
// is in the directory.
func promptServers(t *testing.T, dir string, env ...string) []string {
	t.Helper()
	env = home(t, env...)
	config := filepath.Join(strings.TrimPrefix(env[0], "HOME="), ".config", "settle", "config.toml")
	script := filepath.Join(dir, "hangs.js")
	text := fmt.Sprintf(
		"[mcp.everything]\ncommand = %q\nargs = [\"stdio\"]\nstart_timeout = \"90s\"\n[mcp.hangs]\ncommand = [\"node\", %q]\nstart_timeout = \"90s\"\n",
		filepath.Join(packages(t), "node_modules", ".bin", "mcp-server-everything"), script,
	)
	for path, text := range map[string]string{config: text, script: hangingServer} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return env
}

// awaitPath waits for a file.
func awaitPath(t *testing.T, path string) {
	t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
	t.Errorf("there is no %s", path)
}

// The prompts of a real server, as commands: of a run, which waits for a server that
// was never asked, of the Claude Agent SDK and of ACP.
func TestPromptsFromNpm(t *testing.T) {
	srv := modeltest.NewServer(
		t, modeltest.Script(modeltest.Say("one"), modeltest.Say("two"), modeltest.Say("three"), modeltest.Say("four")),
	)
	env := promptServers(
		t, t.TempDir(), "OPENAI_API_KEY="+acpKey, "OPENAI_BASE_URL="+srv.OpenAI(), "CLAUDE="+settle(t),
		"ANTHROPIC_BASE_URL="+srv.Anthropic(), "ANTHROPIC_API_KEY=sk-ant-0123456789abcdef0123",
	)
	run := func(prompt string) result {
		t.Helper()
		return client{
			argv: []string{settle(t), "run", "-m", "openai/gpt-test", prompt},
			dir:  t.TempDir(),
			env:  env,
		}.run(
			t,
		)
	}
	sent := func(n int, want string) {
		t.Helper()
		if all := srv.Exchanges(); len(all) <= n || !strings.Contains(string(all[n].Body), want) {
			t.Errorf("%q is not in request %d of %d", want, n, len(all))
		}
	}
	if r := run("/mcp__everything__args-prompt 'New York' state=NY"); r.code != 0 ||
		strings.TrimSpace(r.stdout) != "one" {
		t.Fatalf("%+v", r)
	}
	sent(0, "What's weather in New York, NY?")
	if r := run("/everything__args-prompt"); r.code != 2 ||
		!strings.Contains(
			r.stderr, "/everything__args-prompt needs city; usage: /everything__args-prompt city [state]",
		) {
		t.Errorf("%+v", r)
	}
	if r := run("/everything__resource-prompt Text 7"); r.code != 0 {
		t.Errorf("%+v", r)
	}
	sent(1, "[resource: demo://resource/dynamic/text/7]")

	sdk := node(t, "claude.mjs", "command", `{"prompt":"/mcp__everything__simple-prompt"}`)
	sdk.env = env
	talk := sdk.talk(t)
	talk.results(t, "success")
	sent(2, "This is a simple prompt without arguments.")
	if !strings.Contains(
		talk.stdout,
		`{"argumentHint":"city [state]","description":"A prompt with two arguments, one required and one optional","name":"mcp__everything__args-prompt"}`,
	) {
		t.Errorf("the commands of the SDK: %s", talk.stdout)
	}

	p := acpStart(t, srv, env)
	p.call("initialize", map[string]any{"protocolVersion": 1})
	session := p.call("session/new", map[string]any{"cwd": p.dir, "mcpServers": []any{}})["sessionId"].(string)
	p.until("commands", func(line string) bool {
		return strings.Contains(line, `"available_commands_update"`) &&
			strings.Contains(line, `"name":"everything__args-prompt"`) &&
			strings.Contains(line, `"hint":"city [state]"`)
	})
	p.stops(p.prompt(session, "/everything__completable-prompt Sales Eve"), "end_turn")
	sent(3, "Please promote Eve to the head of the Sales team.")
	_ = p.in.Close()
	p.end(30*time.Second, 0)
}

// A server hangs while settle requests a prompt: the cancel is answered, the server receives it,
// and the session continues.
func TestPromptsThatHang(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Say("one"), modeltest.Say("two")))
	dir := t.TempDir()
	env := promptServers(t, dir, "OPENAI_API_KEY="+acpKey, "OPENAI_BASE_URL="+srv.OpenAI())
	p := acpStart(t, srv, env)
	p.call("initialize", map[string]any{"protocolVersion": 1})
	session := p.call("session/new", map[string]any{"cwd": p.dir, "mcpServers": []any{}})["sessionId"].(string)
	id := p.prompt(session, "/hangs__ask now")
	awaitPath(t, filepath.Join(dir, "asked"))
	p.stops(p.prompt(session, "hello"), "end_turn") // others do not wait for it
	p.write(map[string]any{"method": "session/cancel", "params": map[string]any{"sessionId": session}})
	p.stops(id, "cancelled")
	awaitPath(t, filepath.Join(dir, "cancelled"))
	p.stops(p.prompt(session, "hello again"), "end_turn")
	_ = p.in.Close()
	p.end(30*time.Second, 0)
	if n := len(srv.Exchanges()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

//go:build clients && linux

package clients

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// claudeCommand runs settle itself in the place of a client.
func claudeCommand(t *testing.T, as client, args ...string) result {
	t.Helper()
	as.argv = append([]string{settle(t)}, args...)
	return as.run(t)
}

func TestClaudeSessions(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Say(
			"One.",
		),
		modeltest.Say("Two."),
		modeltest.Say("Three."),
		modeltest.Say("Four."),
		modeltest.Say("Five."),
	))
	first := agentSDK(t, srv, "query", `{"sessionId":"33333333-3333-4333-8333-333333333333"}`)
	one := first.talk(t).results(t, "success")[0]
	again := func(options string) claudeTalk {
		t.Helper()
		c := node(t, "claude.mjs", "query", options)
		c.env, c.dir = first.env, first.dir
		return c.talk(t)
	}
	if one.Session != "33333333-3333-4333-8333-333333333333" {
		t.Errorf("the session is %q", one.Session)
	}
	for _, options := range []string{`{"resume":"` + one.Session + `"}`, `{"continue":true}`} {
		if r := again(options).results(t, "success")[0]; r.Session != one.Session {
			t.Errorf("%s went on with %q, want %q", options, r.Session, one.Session)
		}
	}
	body := string(srv.Exchanges()[2].Body)
	for _, want := range []string{"One.", "Two."} {
		if !strings.Contains(body, want) {
			t.Errorf("the third request does not have %q: %s", want, body)
		}
	}
	forked := again(`{"resume":"` + one.Session + `","forkSession":true}`)
	if r := forked.results(t, "success")[0]; r.Session == one.Session {
		t.Error("a fork is the session itself")
	}
	if body := string(srv.Exchanges()[3].Body); !strings.Contains(body, "Three.") {
		t.Errorf("the fork does not know what was claudeSaid before: %s", body)
	}
	if r := again(`{"persistSession":false}`).results(t, "success")[0]; r.Session == one.Session {
		t.Error("a session that is not kept is the one before")
	}
	for options, want := range map[string]string{
		`{"resume":"44444444-4444-4444-8444-444444444444"}`:    "no conversation found",
		`{"sessionId":"33333333-3333-4333-8333-333333333333"}`: "already in use",
	} {
		s := again(options)
		if r := s.results(t, "error_during_execution")[0]; !strings.Contains(strings.Join(r.Errors, " "), want) {
			t.Errorf("%s: %q", options, r.Errors)
		}
		if len(s.of("thrown")) != 1 || !strings.Contains(s.stderr, want) {
			t.Errorf("%s: stderr %q", options, s.stderr)
		}
	}
}

// Permission modes change while the session runs.
func TestClaudeModes(t *testing.T) {
	edit := func(name string) modeltest.Turn {
		return modeltest.Reply(modeltest.Call("write", `{"path":"`+name+`","content":"x"}`))
	}
	srv := modeltest.NewServer(t, modeltest.Script(
		edit("default"), modeltest.Say("1"), edit("acceptEdits"), modeltest.Say("2"), edit("plan"), modeltest.Say("3"),
		edit("dontAsk"), modeltest.Say("4"), modeltest.Reply(claudeWrite("bypass")), modeltest.Say("5"),
	))
	s := agentSDK(t, srv, "modes", `{"allowDangerouslySkipPermissions":true}`).talk(t)
	all := s.results(t, "success", "success", "success", "success", "success")
	for n, mode := range []string{"default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"} {
		allowed := mode == "acceptEdits" || mode == "bypassPermissions"
		if got := s.of("system/init")[n].Mode; got != mode {
			t.Errorf("turn %d is in mode %q, want %q", n+1, got, mode)
		}
		if denied := len(all[n].Denials) > 0; denied == allowed {
			t.Errorf("%s: denials %+v", mode, all[n].Denials)
		}
	}
	if len(s.of("asked")) != 1 || s.of("asked")[0].Name != "Write" ||
		s.of("asked")[0].Input["file_path"] != filepath.Join(s.dir, "default") {
		t.Errorf("asked %+v", s.of("asked"))
	}
	for name, want := range map[string]bool{"default": false, "acceptEdits": true, "plan": false, "dontAsk": false, "bypass": true} {
		if claudeExists(filepath.Join(s.dir, name)) != want {
			t.Errorf("%s was written: %t", name, !want)
		}
	}
	if len(s.of("system/permission_denied")) != 2 {
		t.Errorf("told of denials %+v", s.of("system/permission_denied"))
	}
}

// Unsupported requests are answered clearly.
func TestClaudeRefusals(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Say("Never.")))
	s := agentSDK(t, srv, "refusals", `{}`).talk(t)
	want := map[string]string{
		"bypass": "cannot set permission mode", "nonsense": `no permission mode "nonsense"`, "thinking": "does not support the control request",
		"context": "does not support the control request", "stop": "there is no job",
	}
	for _, m := range s.of("try") {
		if message := string(m.Message); want[m.Name] != "" &&
			(m.OK || !strings.Contains(message, strings.ReplaceAll(want[m.Name], `"`, `\"`))) ||
			want[m.Name] == "" && !m.OK {
			t.Errorf("%s: %t %s %s", m.Name, m.OK, message, m.Value)
		}
	}
	if len(s.of("try")) != 11 || len(s.of("result")) != 0 || s.code != 0 {
		t.Errorf("%d answers, %d results, code %d", len(s.of("try")), len(s.of("result")), s.code)
	}
}

func TestClaudeModelAndPrompt(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Say("1"), modeltest.Say("2")))
	s := agentSDK(
		t, srv, "model",
		`{"model":"sonnet","systemPrompt":"You are a pirate.","disallowedTools":["Bash","Edit(src/**)"],"effort":"low"}`,
	).talk(t)
	s.results(t, "success", "success")
	all := srv.Exchanges()
	for n, model := range []string{"claude-sonnet-5-5", "claude-haiku-5-5"} {
		if !strings.Contains(string(all[n].Body), `"model":"`+model+`"`) {
			t.Errorf("request %d does not ask %q: %s", n+1, model, all[n].Body)
		}
	}
	if body := string(all[0].Body); !strings.Contains(body, "You are a pirate.") ||
		strings.Contains(body, `"name":"shell"`) {
		t.Errorf("request %s", body)
	}
	if tools := strings.Join(s.of("system/init")[0].Tools, " "); strings.Contains(tools, "Bash") ||
		!strings.Contains(tools, "Edit") {
		t.Errorf("tools %q", tools)
	}
}

func TestClaudeLimit(t *testing.T) {
	srv := modeltest.NewServer(
		t, modeltest.Script(modeltest.Reply(modeltest.Call("list", `{}`)), modeltest.Say("Never.")),
	)
	s := agentSDK(
		t, srv, "query", `{"maxTurns":1,"systemPrompt":{"type":"preset","preset":"claude_code","append":"Be brief."}}`,
	).talk(t)
	if r := s.results(t, "error_max_turns")[0]; r.Turns != 1 || r.Terminal != "max_turns" {
		t.Errorf("result %+v", r)
	}
	if body := string(srv.Exchanges()[0].Body); !strings.Contains(body, "Be brief.") {
		t.Errorf("request %s", body)
	}
}

func TestClaudeSchema(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Say(`{"n":1}`)))
	s := agentSDK(
		t, srv, "query",
		`{"outputFormat":{"type":"json_schema","schema":{"type":"object","properties":{"n":{"type":"number"}},"required":["n"],"additionalProperties":false}}}`,
	).talk(t)
	if r := s.results(t, "success")[0]; string(r.Structured) != `{"n":1}` {
		t.Errorf("structured output %s", r.Structured)
	}
}

// Hooks decide before the client is asked, and receive the executed calls.
func TestClaudeHooks(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			modeltest.Call("write", `{"path":"a","content":"x"}`),
			claudeWrite("b"),
		),
		modeltest.Say("Done."),
	))
	s := agentSDK(t, srv, "hooks", `{}`).talk(t)
	r := s.results(t, "success")[0]
	seen := map[string]int{}
	for _, h := range s.of("hook") {
		seen[h.Kind]++
	}
	if seen["writes"] != 1 || seen["bash"] != 1 || seen["after"] != 1 || seen["never"] != 0 {
		t.Errorf("hooks %v", seen)
	}
	if claudeExists(filepath.Join(s.dir, "a")) || !claudeExists(filepath.Join(s.dir, "b")) || len(r.Denials) != 1 ||
		r.Denials[0].Tool != "Write" {
		t.Errorf("denials %+v", r.Denials)
	}
	if got := s.parts(t, "user", "tool_result"); !strings.Contains(got[0].Content+got[1].Content, "files are holy") {
		t.Errorf("results of calls %+v", got)
	}
	if !strings.Contains(s.stderr, "Notification") {
		t.Errorf("no warning of a hook that is not called: %q", s.stderr)
	}
}

// Servers in the client's process and others are called under Claude's names, and a hanging server
// is interrupted. The client receives the unsupported options.
func TestClaudeServersAndAgents(t *testing.T) {
	server := filepath.Join(packages(t), "node_modules", ".bin", "mcp-server-memory")
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("mine__add", `{"a":20,"b":22}`), modeltest.Call("mine__fail", `{}`)),
		modeltest.Reply(modeltest.Call("tool_search", `{"query":"read_graph"}`)),
		modeltest.Reply(modeltest.Call("tool_call", `{"name":"other__read_graph","arguments":{}}`)),
		modeltest.Reply(modeltest.Call("mine__hang", `{}`)),
	))
	s := agentSDK(
		t, srv, "servers", `{"strictMcpConfig":true,"disallowedTools":["mcp__mine__fail"]}`, "SERVER="+server,
		"MEMORY_FILE_PATH="+filepath.Join(t.TempDir(), "memory.json"),
	).talk(t)
	s.results(t, "error_during_execution")
	head := s.of("system/init")[0]
	if got := head.Servers; len(got) != 2 || got[0].Name != "other" || got[1].Name != "mine" ||
		got[1].Status != "connected" ||
		!slices.Contains(head.Tools, "mcp__mine__add") {
		t.Errorf("servers %+v, tools %q", got, head.Tools)
	}
	var named []string
	for _, a := range s.of("asked") {
		named = append(named, a.Name)
	}
	// The search starts "other", a program that the client names: that needs an approval.
	if want := []string{"mcp__mine__add", "tool_search", "mcp__other__read_graph", "mcp__mine__hang"}; !slices.Equal(
		named, want,
	) {
		t.Errorf("asked about %q, want %q", named, want)
	}
	var results string
	for _, r := range s.parts(t, "user", "tool_result") {
		results += r.Content + "\n"
	}
	if !strings.Contains(results, "sum 42") || strings.Contains(results, "broken on purpose") ||
		!strings.Contains(results, "entities") {
		t.Errorf("results %q", results)
	}
	if got := string(s.of("try")[0].Value); strings.Count(got, `"connected"`) != 2 {
		t.Errorf("in the end, the servers are %s", got)
	}
	if strings.Contains(s.stderr, "settle: MCP") || strings.Contains(s.stderr, "MCP server \"") ||
		!strings.Contains(s.stderr, "helper") {
		t.Errorf("stderr %q", s.stderr)
	}
}

// A link named claude is settle claude, also to its supervisors.
func TestClaudeByItsName(t *testing.T) {
	link := filepath.Join(t.TempDir(), "claude")
	if err := os.Symlink(settle(t), link); err != nil {
		t.Fatal(err)
	}
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(claudeWrite("a")), modeltest.Say("Done.")))
	s := agentSDK(t, srv, "query", claudeBypass, "CLAUDE="+link)
	s.env = slices.DeleteFunc(s.env, func(e string) bool { return e == "CLAUDE="+settle(t) })
	r := s.talk(t)
	r.results(t, "success")
	if !claudeExists(filepath.Join(r.dir, "a")) {
		t.Error("the call did not run")
	}
}

// Scripts call it with -p.
func TestClaudePrint(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  []string
		stdin string
		code  int
		want  string
	}{
		{"text", []string{"-p", "hello"}, "", 0, "Done.\n"},
		{"piped", []string{"--print", "--output-format", "text"}, "hello", 0, "Done.\n"},
		{"json", []string{"-p", "--output-format=json", "hello"}, "", 0, `"subtype":"success"`},
		{"stream", []string{"-p", "hello", "--output-format", "stream-json", "--verbose"}, "", 0, `"subtype":"init"`},
		{"unknown flag", []string{"-p", "hello", "--frobnicate=1"}, "", 0, "Done.\n"},
		{"limit", []string{"-p", "hello", "--max-turns", "1", "--output-format", "json"}, "", 3, `"subtype":"error_max_turns"`},
		{"bad format", []string{"-p", "hello", "--output-format", "xml"}, "", 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := modeltest.NewServer(
				t, modeltest.Script(modeltest.Reply(modeltest.Call("list", `{}`)), modeltest.Say("Done.")),
			)
			as := agentSDK(t, srv, "query", `{}`)
			as.stdin = c.stdin
			r := claudeCommand(t, as, append([]string{"claude"}, c.args...)...)
			if r.code != c.code || !strings.Contains(r.stdout, c.want) {
				t.Errorf("code %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
			}
			if c.name == "unknown flag" && !strings.Contains(r.stderr, "--frobnicate has no effect") {
				t.Errorf("stderr %q", r.stderr)
			}
		})
	}
}

// Gateways want a bearer token.
func TestClaudeBearerToken(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Say("Through the gateway.")))
	c := agentSDK(t, srv, "query", `{}`, "ANTHROPIC_AUTH_TOKEN=token-0123456789abcdef")
	c.env = slices.DeleteFunc(c.env, func(e string) bool { return strings.HasPrefix(e, "ANTHROPIC_API_KEY=") })
	c.talk(t).results(t, "success")
	if got := srv.Exchanges()[0].Header.Get("Authorization"); got != "Bearer token-0123456789abcdef" {
		t.Errorf("authorized with %q", got)
	}
}

// A process may be started before there is a prompt.
func TestClaudeStartup(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(claudeWrite("a")), modeltest.Say("Done.")))
	s := agentSDK(t, srv, "warm", claudeBypass).talk(t)
	s.results(t, "success")
	if len(s.of("started")) != 1 || len(s.of("end")) != 1 || s.code != 0 {
		t.Errorf("code %d", s.code)
	}
}

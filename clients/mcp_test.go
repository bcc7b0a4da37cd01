//go:build clients && linux

package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// mcpSaid is a line of mcp.mjs, or the Inspector's output about a call.
type mcpSaid struct {
	Kind        string
	Message     string
	Session     string
	Outcome     string
	AbortReason string
	Answer      string
	State       string
	Text        string
	IsError     bool
	Denied      int
	MS          float64
	Server      int
	Error       *struct{ Name string }
}

// mcpCommand is settle as a client starts it.
func mcpCommand(t *testing.T, srv *modeltest.Server, args ...string) []string {
	t.Helper()
	return append([]string{settle(t), "mcp", "-m", "chat/any", "--base-url", srv.OpenAI()}, args...)
}

// mcpSDK runs mcp.mjs.
func mcpSDK(t *testing.T, srv *modeltest.Server, what string, elicit any, env ...string) client {
	t.Helper()
	plan, err := json.Marshal(
		map[string]any{"what": what, "elicit": elicit, "command": mcpCommand(t, srv, "--retries", "1")},
	)
	if err != nil {
		t.Fatal(err)
	}
	c := node(t, "mcp.mjs", string(plan))
	c.env = home(t, env...)
	return c
}

// mcpSays runs a client to its end, and returns its lines, by kind.
func mcpSays(t *testing.T, c client) map[string][]mcpSaid {
	t.Helper()
	r := c.run(t)
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}
	all := map[string][]mcpSaid{}
	for line := range strings.Lines(r.stdout) {
		var s mcpSaid
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all[s.Kind] = append(all[s.Kind], s)
	}
	return all
}

func mcpTouch() modeltest.Item { return modeltest.Call("shell", `{"command":"touch made"}`) }

func mcpStubborn() modeltest.Item {
	return modeltest.Call("shell", `{"command":"trap '' TERM INT HUP; touch running; sleep 1000"}`)
}

func mcpHome(c client) string {
	for _, v := range c.env {
		if strings.HasPrefix(v, "HOME=") {
			return v
		}
	}
	return ""
}

// mcpInspect runs the Inspector on settle with the arguments before "--". The Inspector passes on
// the variables that it receives as arguments, and no others.
func mcpInspect(t *testing.T, srv *modeltest.Server, env []string, args ...string) result {
	t.Helper()
	at := slices.Index(args, "--")
	all := append([]string{"--cli"}, mcpCommand(t, srv, args[:at]...)...)
	for _, v := range env {
		if strings.HasPrefix(v, "SETTLE_") {
			all = append(all, "-e", v)
		}
	}
	c := bin(t, "mcp-inspector", append(all, args[at+1:]...)...)
	c.env = env
	return c.run(t)
}

// The Inspector lists the tools, calls them, and shows their results, over standard streams and
// over HTTP.
func TestMCPInspector(t *testing.T) {
	srv := modeltest.NewServer(
		t, modeltest.Script(modeltest.Reply(mcpTouch()), modeltest.Say("Done."), modeltest.Say("Again.")),
	)
	env := home(t, "SETTLE_PERMISSION=allow")
	dir := t.TempDir()
	inspect := func(args ...string) mcpSaid {
		t.Helper()
		r := mcpInspect(t, srv, env, append([]string{"-C", dir, "--"}, args...)...)
		var shown struct {
			StructuredContent mcpSaid
			IsError           bool
			Tools             []struct{ Name string }
		}
		if err := json.Unmarshal([]byte(r.stdout), &shown); err != nil {
			t.Fatalf("exit code %d: %v\n%s\n%s", r.code, err, r.stdout, r.stderr)
		}
		for _, tool := range shown.Tools {
			shown.StructuredContent.Text += " " + tool.Name
		}
		shown.StructuredContent.IsError = shown.IsError
		return shown.StructuredContent
	}
	if tools := inspect("--method", "tools/list", "--strict").Text; tools != " interrupt reply run sessions status" {
		t.Errorf("the tools are%s", tools)
	}
	first := inspect("--method", "tools/call", "--tool-name", "run", "--tool-arg", "prompt=go")
	if first.Answer != "Done." || first.Outcome != "completed" || !mcpExists(filepath.Join(dir, "made")) {
		t.Errorf("the run: %+v", first)
	}
	again := inspect(
		"--method", "tools/call", "--tool-name", "reply", "--tool-arg", "session="+first.Session, "prompt=more",
	)
	if again.Answer != "Again." || again.Session != first.Session {
		t.Errorf("the reply: %+v", again)
	}
	if s := inspect("--method", "tools/call", "--tool-name", "status", "--tool-arg", "session="+first.Session); s.State != "closed" ||
		s.Answer != "Again." {
		t.Errorf("the status: %+v", s)
	}
	if s := inspect("--method", "tools/call", "--tool-name", "interrupt", "--tool-arg", "session="+first.Session); s.Outcome != "idle" {
		t.Errorf("the interrupt: %+v", s)
	}
	if s := inspect("--method", "tools/call", "--tool-name", "reply", "--tool-arg", "session=none", "prompt=x"); !s.IsError {
		t.Errorf("a reply to nobody: %+v", s)
	}
}

func TestMCPInspectorOverHTTP(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Say("Hello.")))
	address, token := mcpOverHTTP(t, srv)
	inspect := func(token string) result {
		c := bin(
			t, "mcp-inspector", "--cli", "--server-url", address, "--transport", "http", "--header",
			"Authorization: Bearer "+token, "--method", "tools/call", "--tool-name", "run", "--tool-arg", "prompt=go",
		)
		c.env = home(t)
		return c.run(t)
	}
	if r := inspect(token); r.code != 0 || !strings.Contains(r.stdout, `"answer": "Hello."`) {
		t.Errorf("exit code %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}
	if r := inspect("wrong"); r.code == 0 {
		t.Errorf("a wrong token: %s", r.stdout)
	}
}

// Clients with elicitation are asked; for others the policy answers.
func TestMCPPermission(t *testing.T) {
	accept := map[string]any{"action": "accept", "content": map[string]any{"decision": "allow"}}
	for name, c := range map[string]struct {
		elicit    any
		env       string
		questions int
		denied    int
	}{
		"accept":  {accept, "A=b", 1, 0},
		"decline": {map[string]any{"action": "decline"}, "A=b", 1, 1},
		"nobody":  {nil, "A=b", 0, 1},
		"allow":   {nil, "SETTLE_PERMISSION=allow", 0, 0},
		"deny":    {accept, "SETTLE_PERMISSION=deny", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(mcpTouch()), modeltest.Say("Done.")))
			run := mcpSDK(t, srv, "run", c.elicit, c.env)
			s := mcpSays(t, run)
			r := s["result"][0]
			if len(s["asked"]) != c.questions || r.Denied != c.denied || r.Outcome != "completed" ||
				mcpExists(filepath.Join(run.dir, "made")) != (c.denied == 0) {
				t.Errorf("it said %+v", s)
			}
		})
	}
}

// Over HTTP the same client, with the same answers.
func TestMCPClientOverHTTP(t *testing.T) {
	for _, what := range []string{"cancel", "interrupts"} {
		t.Run(what, func(t *testing.T) {
			srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(mcpStubborn())))
			address, token := mcpOverHTTP(t, srv, "--permission", "allow")
			plan, err := json.Marshal(map[string]any{"what": what, "url": address, "token": token})
			if err != nil {
				t.Fatal(err)
			}
			c := node(t, "mcp.mjs", string(plan))
			c.env = home(t)
			mcpEnds(t, mcpSays(t, c), what)
		})
	}
}

// mcpEnds checks the report of a turn that was interrupted in a command that ignores TERM.
func mcpEnds(t *testing.T, s map[string][]mcpSaid, what string) {
	t.Helper()
	if what == "cancel" {
		if len(s["answered"]) > 0 || len(s["thrown"]) != 1 || len(s["idle"]) != 2 || s["idle"][0].Outcome != "idle" ||
			s["idle"][1].Outcome != "idle" {
			t.Fatalf("it said %+v", s)
		}
		if now := s["status"][0]; now.Outcome != "aborted" || now.Message != "interrupted" || now.MS > 3000 {
			t.Errorf("the turn: %+v", now)
		}
		return
	}
	for _, i := range s["interrupt"] {
		if i.Outcome != "aborted" || i.AbortReason != "interrupted" {
			t.Errorf("an interrupt: %+v", i)
		}
	}
	if r := s["result"][0]; len(s["interrupt"]) != 2 || r.AbortReason != "interrupted" || !r.IsError ||
		s["took"][0].MS > 3000 {
		t.Errorf("it said %+v", s)
	}
}

func TestMCPInterrupts(t *testing.T) {
	for _, what := range []string{"cancel", "interrupts"} {
		t.Run(what, func(t *testing.T) {
			srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(mcpStubborn())))
			c := mcpSDK(t, srv, what, nil, "SETTLE_PERMISSION=allow")
			mcpEnds(t, mcpSays(t, c), what)
			awaitNoProcess(t, mcpHome(c), goneTimeout)
		})
	}
}

// The result names a fault of the model.
func TestMCPFaults(t *testing.T) {
	for name, c := range map[string]struct {
		turns []modeltest.Turn
		env   string
		want  mcpSaid
	}{
		"reset": {[]modeltest.Turn{modeltest.Say("Here it is.").With(modeltest.Reset(modeltest.AfterDelta(1)).First(1))}, "A=b", mcpSaid{Outcome: "completed", Answer: "Here it is."}},
		"stall": {
			[]modeltest.Turn{modeltest.Say("Here it is.").With(modeltest.Silence(modeltest.AfterDelta(1)).First(1))},
			"SETTLE_STALL_TIMEOUT_MS=500",
			mcpSaid{Outcome: "completed", Answer: "Here it is."},
		},
		"exhaustion": {
			[]modeltest.Turn{modeltest.Say("never").With(modeltest.Status(500).First(modeltest.Always))},
			"A=b",
			mcpSaid{Outcome: "failed", IsError: true, Error: &struct{ Name string }{"TerminalRetryExhaustedError"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := modeltest.NewServer(t, modeltest.Script(c.turns...))
			r := mcpSays(t, mcpSDK(t, srv, "run", nil, c.env))["result"][0]
			if r.Outcome != c.want.Outcome || r.Answer != c.want.Answer || r.IsError != c.want.IsError ||
				(r.Error == nil) != (c.want.Error == nil) ||
				r.Error != nil && r.Error.Name != c.want.Error.Name {
				t.Errorf("the result: %+v", r)
			}
		})
	}
}

// Of a client that was killed nothing is left, and its session goes on.
func TestMCPKilledClient(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(mcpStubborn()), modeltest.Say("I go on.")))
	c := mcpSDK(t, srv, "hang", nil, "SETTLE_PERMISSION=allow")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), clientTimeout)
	t.Cleanup(cancel)
	cmd := c.command(ctx, t)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.Contains(lines.Text(), `"running"`) {
		t.Fatalf("it said %q", lines.Text())
	}
	if err := syscall.Kill(cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	awaitNoProcess(t, mcpHome(c), goneTimeout)
	session := aborted(t, c.env, "shutdown")
	if r := mcpInspect(t, srv, c.env, "--", "--method", "tools/call", "--tool-name", "reply", "--tool-arg", "session="+session, "prompt=more"); !strings.Contains(
		r.stdout, "I go on.",
	) {
		t.Errorf("the reply: %s\n%s", r.stdout, r.stderr)
	}
}

func mcpExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

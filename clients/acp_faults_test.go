//go:build clients && linux

package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest"
)

// acpEnd bounds the end of an agent whose client has gone; clients kill it then.
const acpEnd = 1500 * time.Millisecond

// acpStubborn is a command that ignores TERM, and has a child that left its group.
const acpStubborn = "trap '' TERM; setsid sleep 1000 & echo begun; sleep 1000"

// Everything that the protocol has, held against its schema.
func TestACPSchema(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			modeltest.Think("Hm."),
			modeltest.Text("I write."),
			modeltest.Call("write", `{"path":"a.txt","content":"one\ntwo\n"}`),
		),
		modeltest.Reply(
			modeltest.Call(
				"apply_patch", `{"input":"*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch"}`,
			),
			modeltest.Call("read", `{"path":"a.txt","offset":2}`),
		),
		modeltest.Reply(shellCall("echo out; echo err >&2; exit 3"), modeltest.Call("nothing", `{}`)),
		modeltest.Say("Done.").With(modeltest.Reset(modeltest.AfterDelta(1)).First(1)),
		modeltest.Fail(modeltest.Status(401)), // a 400 would be asked again with less
		modeltest.Say("Again."),
	))
	p := acpStart(t, srv, nil)
	capabilities := map[string]any{
		"_meta":   map[string]any{"terminal_output": true},
		"session": map[string]any{"notices": map[string]any{}},
	}
	session := p.open("", capabilities)
	a := p.stops(p.prompt(session, "go"), "end_turn")
	for _, want := range []string{
		`"terminal_info":{`, `"terminal_output":{`, `"terminal_exit":{"exit_code":3`, `"sessionUpdate":"notice"`,
		`"type":"diff"`, `"kind":"edit"`, `"kind":"read"`, `"line":2`, `"session_info_update"`,
	} {
		if !strings.Contains(a.after, want) {
			t.Errorf("it did not say %s", want)
		}
	}
	if failed := p.answer(p.prompt(session, "fail")); failed.Error == nil ||
		!strings.Contains(failed.Error.Message, "401") ||
		failed.Error.Data["turn"] == nil {
		t.Errorf("a turn that failed was answered with %+v", failed)
	}
	p.call("session/set_mode", map[string]any{"sessionId": session, "modeId": "allow"})
	p.call("session/set_config_option", map[string]any{"sessionId": session, "configId": "mode", "value": "ask"})
	p.call("session/set_config_option", map[string]any{"sessionId": session, "configId": "effort", "value": "low"})
	p.call("session/list", map[string]any{"cwd": p.dir})
	p.call("session/close", map[string]any{"sessionId": session})
	p.call("session/resume", map[string]any{"sessionId": session, "cwd": p.dir})
	p.stops(p.prompt(session, "again"), "end_turn")
	p.call("session/load", map[string]any{"sessionId": session, "cwd": p.dir, "mcpServers": []any{}})
	p.call("session/close", map[string]any{"sessionId": session})
	p.call("session/delete", map[string]any{"sessionId": session})
	if p.in.Close() != nil {
		t.Error("cannot close standard input")
	}
	p.end(acpEnd, 0)
	if refused := srv.Refusals(); len(refused) > 0 {
		t.Errorf("the model server refused: %q", refused)
	}
}

// The client chooses another model, which the next turn asks.
func TestACPModel(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Say("One."), modeltest.Say("Two.")))
	p := acpStart(t, srv, nil)
	session := p.open("", nil)
	p.stops(p.prompt(session, "one"), "end_turn")
	a := p.answer(
		p.send(
			"session/set_config_option",
			map[string]any{"sessionId": session, "configId": "model", "value": "openai/gpt-other"},
		),
	)
	if a.Error != nil || !strings.Contains(string(mustJSON(t, a.Result)), `"currentValue":"openai/gpt-other"`) {
		t.Errorf("answered with %+v", a)
	}
	p.stops(p.prompt(session, "two"), "end_turn")
	for n, want := range []string{"gpt-test", "gpt-other"} {
		if body := string(srv.Exchanges()[n].Body); !strings.Contains(body, `"model":"`+want+`"`) {
			t.Errorf("request %d does not ask %s", n+1, want)
		}
	}
	a = p.answer(
		p.send(
			"session/set_config_option", map[string]any{"sessionId": session, "configId": "model", "value": "nobody/x"},
		),
	)
	if a.Error == nil || a.Error.Code != -32602 || !strings.Contains(a.Error.Message, "nobody") {
		t.Errorf("answered with %+v", a)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A cancel in the same write as its prompt is never lost.
func TestACPCancelInTheSameWrite(t *testing.T) {
	srv := modeltest.NewServer(
		t,
		modeltest.Scenario{
			Loop: true,
			Turns: []modeltest.Turn{
				modeltest.Say("one two three").With(modeltest.Silence(modeltest.AfterDelta(1)).First(modeltest.Always)),
			},
		},
	)
	p := acpStart(t, srv, nil)
	session := p.open("", nil)
	for range 100 {
		id, m := p.request("session/prompt", sayPrompt(session, "go"))
		p.write(m, sayCancel(session))
		p.stops(id, "cancelled")
	}
}

func TestACPCancel(t *testing.T) {
	silent := modeltest.Say("one two three").With(modeltest.Silence(modeltest.AfterDelta(1)))
	for name, tt := range map[string]struct {
		turn modeltest.Turn
		seen string
	}{
		"in a tool that ignores TERM": {modeltest.Reply(shellCall(acpStubborn)), `begun\n`},
		"while the model is silent":   {silent, `"agent_message_chunk"`},
	} {
		t.Run(name, func(t *testing.T) {
			srv := modeltest.NewServer(t, modeltest.Script(tt.turn, modeltest.Say("I go on.")))
			p := acpStart(t, srv, nil, "--permission", "allow")
			session := p.open("", nil)
			p.write(sayCancel(session)) // nothing runs
			id := p.prompt(session, "go")
			p.until(
				tt.seen,
				func(line string) bool { return strings.Contains(line, tt.seen) && !strings.Contains(line, "rawInput") },
			)
			begin := time.Now()
			p.write(sayCancel(session), sayCancel(session)) // two at once
			a := p.stops(id, "cancelled")
			if took := time.Since(begin); took > acpEnd {
				t.Errorf("it took %v", took)
			}
			if strings.Contains(a.after, `"tool_call"`) && !strings.Contains(a.after, `"status":"failed"`) {
				t.Error("the call has no ending")
			}
			if left := acpCommands(t, p.mark); len(left) > 0 {
				t.Errorf("these run on: %q", left)
			}
			p.stops(p.prompt(session, "go on"), "end_turn")
			if refused := srv.Refusals(); len(refused) > 0 {
				t.Errorf("the model server refused: %q", refused)
			}
		})
	}
}

// acpCommands are the processes with the mark that are not settle itself.
func acpCommands(t *testing.T, mark string) (out []string) {
	t.Helper()
	for _, pid := range marked(t, mark) {
		line, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		if words := strings.ReplaceAll(string(line), "\x00", " "); err == nil && words != "" &&
			!strings.Contains(words, " acp -m ") {
			out = append(out, pid+" "+words)
		}
	}
	return out
}

// However the client goes away, in a tool that ignores TERM, nothing is left and
// the session goes on.
func TestACPClientGoesAway(t *testing.T) {
	for name, tt := range map[string]struct {
		leave func(p *acpPeer)
		code  int
		heard bool // the end of the prompt
	}{
		"closes standard input": {func(p *acpPeer) { _ = p.in.Close() }, 0, true},
		"sends TERM":            {func(p *acpPeer) { p.signal(syscall.SIGTERM) }, 0, true},
		"sends TERM twice":      {func(p *acpPeer) { p.signal(syscall.SIGTERM); p.signal(syscall.SIGTERM) }, 0, true},
		"sends HUP":             {func(p *acpPeer) { p.signal(syscall.SIGHUP) }, 0, true},
		"kills the agent":       {func(p *acpPeer) { p.signal(syscall.SIGKILL) }, -1, false},
	} {
		t.Run(name, func(t *testing.T) {
			srv := modeltest.NewServer(
				t,
				modeltest.Script(
					modeltest.Reply(modeltest.Text("I wait."), shellCall(acpStubborn)),
					modeltest.Say("I go on."),
				),
			)
			p := acpStart(t, srv, nil, "--permission", "allow")
			session := p.open("", nil)
			id := p.prompt(session, "go")
			p.until("begun", func(line string) bool {
				return strings.Contains(line, `begun\n`) && !strings.Contains(line, "rawInput")
			})
			tt.leave(p)
			if tt.heard {
				a := p.stops(id, "cancelled")
				if !strings.Contains(a.after, `"status":"failed"`) {
					t.Error("the call has no ending")
				}
				p.end(acpEnd, tt.code)
			} else {
				_ = p.cmd.Wait()
				p.awaitEnd(goneTimeout)
			}
			again := acpStart(t, srv, p.env, "--permission", "allow")
			again.dir = p.dir
			again.open(session, nil)
			a := again.stops(again.prompt(session, "go on"), "end_turn")
			for _, want := range []string{`"text":"I wait."`, `"text":"I go on."`, `"status":"failed"`} {
				if !strings.Contains(a.after, want) {
					t.Errorf("it did not say %s", want)
				}
			}
			if refused := srv.Refusals(); len(refused) > 0 {
				t.Errorf("the model server refused: %q", refused)
			}
		})
	}
}

// The program that started the agent dies, and the streams stay open.
func TestACPParentDies(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(shellCall(acpStubborn))))
	p := acpStartBy(
		t, []string{"/bin/sh", "-c", `exec 3<&0; "$@" <&3 3<&- & wait`, "sh"}, srv, nil, "--permission", "allow",
	)
	session := p.open("", nil)
	id := p.prompt(session, "go")
	p.until("begun", func(line string) bool {
		return strings.Contains(line, `begun\n`) && !strings.Contains(line, "rawInput")
	})
	p.signal(syscall.SIGKILL)
	if a := p.stops(id, "cancelled"); !strings.Contains(p.output(), `"by":"parent"`) {
		t.Errorf("it does not say why: %+v", a)
	}
	p.awaitEnd(goneTimeout)
}

// Faults of the provider: if a retry succeeds, the client sees the fault and the turn continues;
// else it receives an error with the cause.
func TestACPFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		turn  modeltest.Turn
		flags []string
		fails string
	}{
		"reset":            {turn: modeltest.Say("one two three").With(modeltest.Reset(modeltest.AfterDelta(2)).First(1))},
		"stall":            {turn: modeltest.Say("one two three").With(modeltest.Silence(modeltest.AfterDelta(2)).First(1)), flags: []string{"--stall-timeout", "400ms"}},
		"overload":         {turn: modeltest.Say("one two three").With(modeltest.Status(529, modeltest.RetryMillis(100)).First(2))},
		"exhaustion":       {turn: modeltest.Fail(modeltest.Status(500).First(modeltest.Always)), flags: []string{"--retries", "1"}, fails: "500"},
		"exhausted stalls": {turn: modeltest.Say("one two").With(modeltest.Silence(modeltest.AfterDelta(1)).First(modeltest.Always)), flags: []string{"--retries", "1", "--stall-timeout", "400ms"}, fails: "stalled"},
		"a refused key":    {turn: modeltest.Fail(modeltest.Status(401)), fails: "401"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := modeltest.NewServer(t, modeltest.Script(tt.turn))
			p := acpStart(t, srv, nil, tt.flags...)
			session := p.open("", nil)
			a := p.answer(p.prompt(session, "go"))
			switch {
			case tt.fails == "" && (a.Error != nil || a.Result["stopReason"] != "end_turn" || !strings.Contains(a.after, "asking again in")):
				t.Errorf("answered with %+v", a)
			case tt.fails != "" && (a.Error == nil || !strings.Contains(a.Error.Message, tt.fails)):
				t.Errorf("answered with %+v", a)
			}
			if strings.Contains(p.output(), acpKey) {
				t.Error("the key is among what was said")
			}
		})
	}
}
